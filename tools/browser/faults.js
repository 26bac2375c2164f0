// What is wrong with the layout of the page that is open. Returns [{rule, where, what}].
// Run in the page by looking.py with {isPrinted, only}; it reads the layout and changes nothing.
({ isPrinted, only }) => {
  const found = [];
  const seen = new Set();
  const wants = rule => !only.length || only.includes(rule);
  const add = (rule, where, what) => {
    const key = `${rule} ${where} ${what}`;
    if (!seen.has(key) && found.length < 400) {
      seen.add(key);
      found.push({ rule, where, what });
    }
  };
  const width = document.documentElement.clientWidth;
  // Longer words (digests, addresses, paths) may be broken.
  const longest = 24;

  const name = element => {
    const own = element.id ? `#${element.id}` : element.getAttribute("class")
      ? `.${element.getAttribute("class").trim().split(/\s+/).join(".")}` : "";
    const parent = element.parentElement;
    return `${parent && parent !== document.body ? `${parent.localName} > ` : ""}${element.localName}${own}`;
  };
  const said = text => {
    const short = text.trim().replace(/\s+/g, " ");
    return short.length > 60 ? `${short.slice(0, 59)}…` : short;
  };
  const isShown = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  // For readers of screens alone: a box of a pixel.
  const isHeardOnly = element => {
    for (let one = element; one; one = one.parentElement) {
      const box = one.getBoundingClientRect();
      if (box.width <= 1 && box.height <= 1 && getComputedStyle(one).overflow !== "visible") return true;
    }
    return false;
  };
  const isFloating = element => {
    for (let one = element; one; one = one.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(one).position)) return true;
    }
    return false;
  };
  const clips = style => ["auto", "scroll", "hidden", "clip"].includes(style.overflowX);
  const scroller = element => {
    for (let one = element.parentElement; one && one !== document.body; one = one.parentElement) {
      if (clips(getComputedStyle(one))) return one;
    }
    return null;
  };

  // Texts, each with where its lines are: a box, or four corners where a picture turns it.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const quad = box => [
    [box.left, box.top], [box.right, box.top], [box.right, box.bottom], [box.left, box.bottom],
  ];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.nodeValue.trim() || !element || ["script", "style", "template", "noscript", "option"].includes(element.localName)) continue;
    if (["title", "desc"].includes(element.localName) || !isShown(element) || isHeardOnly(element)) continue;
    if (element instanceof SVGElement) {
      if (element.localName !== "text" && element.localName !== "tspan") continue;
      const box = element.getBBox();
      const matrix = element.getScreenCTM();
      if (!matrix || !box.width) continue;
      // Letters fill about the middle of their line.
      const top = box.y + 0.22 * box.height, bottom = box.y + 0.8 * box.height;
      const corners = [[box.x, top], [box.x + box.width, top], [box.x + box.width, bottom], [box.x, bottom]].map(
        ([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f]);
      texts.push({ node, element, isDrawn: true, quads: [corners] });
      continue;
    }
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter(box => box.width > 0.5 && box.height > 0.5).map(box => {
      const inset = 0.2 * box.height;
      return quad({ left: box.left, right: box.right, top: box.top + inset, bottom: box.bottom - inset });
    });
    if (lines.length) texts.push({ node, element, isDrawn: false, quads: lines });
  }

  // wide: the page scrolls sideways.
  if (wants("wide")) {
    const whole = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
    if (whole > width + 1) add("wide", "page", `${whole} px wide in a window of ${width} px`);
    for (const element of document.body.querySelectorAll("*")) {
      if (element.ownerSVGElement || !isShown(element) || isHeardOnly(element) || isFloating(element)) continue;
      const box = element.getBoundingClientRect();
      const isOut = edge => edge.width && (edge.right > width + 1 || edge.left < -1);
      // What is within something that is too wide is not told again.
      if (isOut(box) && !scroller(element) && !isOut(element.parentElement.getBoundingClientRect())) {
        add("wide", name(element), `from ${Math.round(box.left)} to ${Math.round(box.right)} px in a window of ${width} px`);
      }
    }
  }

  // cut: text beyond the edge of a box that hides it, or that has to be scrolled where there is room for all.
  if (wants("cut")) {
    const isRoomy = width >= 1000 || isPrinted;
    for (const element of document.body.querySelectorAll("*")) {
      if (element.ownerSVGElement || element.localName === "svg" || !isShown(element)) continue;
      if (["select", "input", "textarea", "audio", "video"].includes(element.localName) || isHeardOnly(element)) continue;
      const style = getComputedStyle(element);
      if (!clips(style) || element.scrollWidth <= element.clientWidth + 1 || !element.clientWidth) continue;
      const scrolls = ["auto", "scroll"].includes(style.overflowX);
      if (scrolls && !isRoomy) continue;
      const edge = element.getBoundingClientRect();
      const beyond = texts.find(one => element.contains(one.element) && !isFloating(one.element)
        && one.quads.some(corners => Math.max(...corners.map(([x]) => x)) > edge.right + 1));
      if (beyond) add("cut", name(element), `${scrolls ? "to be scrolled" : "hidden"} at the right: ${said(beyond.node.nodeValue)}`);
    }
    for (const one of texts) {
      if (!one.isDrawn) continue;
      const edge = one.element.ownerSVGElement.getBoundingClientRect();
      const xs = one.quads[0].map(([x]) => x), ys = one.quads[0].map(([, y]) => y);
      const out = [edge.left - Math.min(...xs), Math.max(...xs) - edge.right, edge.top - Math.min(...ys), Math.max(...ys) - edge.bottom];
      if (Math.max(...out) > 1) add("cut", "picture", `${said(one.node.nodeValue)}: ${Math.round(Math.max(...out))} px outside`);
    }
  }

  // word: broken, or wider than its cell.
  if (wants("word")) {
    const range = document.createRange();
    for (const { node, element, isDrawn } of texts) {
      if (isDrawn || element.closest("pre, textarea")) continue;
      const cell = element.closest("td, th");
      const edge = cell && cell.getBoundingClientRect();
      const block = element.closest("h1, h2, h3, h4, p, li, dt, dd, div, figcaption, summary, section, main, body");
      const room = cell ? Infinity : block.clientWidth;
      // Between marks other than these a line may end.
      for (const match of node.nodeValue.matchAll(/[\p{L}\p{N}\p{M}_'’.,%]+/gu)) {
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        const boxes = [...range.getClientRects()].filter(box => box.width > 0.5);
        if (!boxes.length) continue;
        const lines = new Set(boxes.map(box => Math.round(box.top)));
        const isTooWide = boxes.reduce((sum, box) => sum + box.width, 0) > room;
        if (match[0].length <= longest && !isTooWide && lines.size > 1 && Math.max(...lines) - Math.min(...lines) > 4) {
          add("word", cell ? name(cell) : name(element), `"${match[0]}" is broken over ${lines.size} lines`);
        }
        if (edge && boxes.some(box => box.right > edge.right + 1 || box.left < edge.left - 1)) {
          add("word", name(cell), `"${said(match[0])}" is wider than its cell`);
        }
      }
    }
  }

  // tiny: letters of less than six pixels.
  if (wants("tiny")) {
    for (const { node, element, isDrawn } of texts) {
      const matrix = isDrawn ? element.getScreenCTM() : null;
      const size = parseFloat(getComputedStyle(element).fontSize) * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
      if (size < 6) add("tiny", name(element), `"${said(node.nodeValue)}" is ${size.toFixed(1)} px high`);
    }
  }

  // overlap: two texts of which the boxes have a part in common that is more than a hair.
  if (wants("overlap")) {
    const pieces = [];
    for (const one of texts) {
      if (isFloating(one.element)) continue;
      for (const corners of one.quads) {
        const xs = corners.map(([x]) => x), ys = corners.map(([, y]) => y);
        pieces.push({ one, corners, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) });
      }
    }
    pieces.sort((a, b) => a.top - b.top);
    const axes = corners => [0, 1].map(place => {
      const [x, y] = [0, 1].map(at => corners[place + 1][at] - corners[place][at]);
      const long = Math.hypot(x, y) || 1;
      return [x / long, y / long];
    });
    const shadow = (corners, [x, y]) => {
      const found = corners.map(corner => corner[0] * x + corner[1] * y);
      return [Math.min(...found), Math.max(...found)];
    };
    const depth = (a, b) => Math.min(...[...axes(a.corners), ...axes(b.corners)].map(axis => {
      const [one, other] = [shadow(a.corners, axis), shadow(b.corners, axis)];
      return Math.min(one[1], other[1]) - Math.max(one[0], other[0]);
    }));
    for (let place = 0; place < pieces.length; place += 1) {
      const a = pieces[place];
      for (let next = place + 1; next < pieces.length && pieces[next].top < a.bottom; next += 1) {
        const b = pieces[next];
        if (a.one === b.one || a.left >= b.right || b.left >= a.right) continue;
        // What a box hides overlaps with nothing.
        if (depth(a, b) <= 1) continue;
        const hides = [a, b].some(piece => {
          const box = piece.one.isDrawn ? null : scroller(piece.one.element);
          const edge = box && box.getBoundingClientRect();
          return edge && (piece.left >= edge.right || piece.right <= edge.left || piece.top >= edge.bottom || piece.bottom <= edge.top);
        });
        if (!hides) add("overlap", name(a.one.element), `"${said(a.one.node.nodeValue)}" and "${said(b.one.node.nodeValue)}"`);
      }
    }
  }

  // contrast: texts of pictures on what was drawn below them; axe passes over these.
  if (wants("contrast")) {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const colours = new Map();
    const channels = (colour, opacity) => {
      if (!colours.has(colour)) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        colours.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
      }
      const [red, green, blue, alpha] = colours.get(colour);
      return [red, green, blue, (alpha / 255) * opacity];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((one, at) => one * a + below[at] * (1 - a));
    const light = colour => {
      const [r, g, b] = colour.map(one => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = element => {
      const behind = [];
      for (let one = element; one; one = one.parentElement) {
        if (one instanceof HTMLElement) behind.push(channels(getComputedStyle(one).backgroundColor, 1));
      }
      return behind.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255]);
    };
    for (const picture of document.querySelectorAll("svg[role=img]")) {
      if (!isShown(picture)) continue;
      const shapes = [...picture.querySelectorAll("rect, circle, path, polygon, ellipse, text")];
      const own = ground(picture.parentElement);
      shapes.forEach((text, place) => {
        if (text.localName !== "text" || !text.textContent.trim()) return;
        const box = text.getBBox();
        const toScreen = text.getScreenCTM();
        if (!toScreen) return;
        const at = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2).matrixTransform(toScreen);
        let below = own;
        for (const shape of shapes.slice(0, place)) {
          if (shape.localName === "text" || shape.closest("title, clipPath, defs")) continue;
          const style = getComputedStyle(shape);
          if (style.fill === "none" || !shape.isPointInFill(at.matrixTransform(shape.getScreenCTM().inverse()))) continue;
          below = over(channels(style.fill, style.opacity * style.fillOpacity), below);
        }
        const style = getComputedStyle(text);
        const above = over(channels(style.fill, style.opacity * style.fillOpacity), below);
        const [dark, bright] = [light(above), light(below)].sort((a, b) => a - b);
        const ratio = (bright + 0.05) / (dark + 0.05);
        if (ratio < 4.5) add("contrast", "picture", `"${said(text.textContent)}": ${ratio.toFixed(1)} to 1`);
      });
    }
  }
  return found;
}
