/* dither-client: one answer in, one report out, randomised on this device. No dependencies.
 *
 * A report is 16 bytes of digest, 16 random bytes and the payload. The order in which 32-bit random integers are read
 * is fixed by version 1 of the protocol document, so that this file and the Python client write the same bytes. What
 * was reported is remembered in a storage of the browser: whoever clears it forgets what was spent.
 */

const VERSION = 1;
const KIND = "local protocol";
const ENTROPY = "words-32";
const FIELDS = ["dither", "domain", "entropy", "parameters", "question", "randomiser", "version"];
const BOOK = "dither-book";
/* e^20 10^20, rounded down. */
const MOST_RATIO = 48516519540979027796910683054n;

const fail = (name, rule) => { throw new RangeError(`${name} must be ${rule}`); };
const isInteger = (value, least, most) => Number.isSafeInteger(value) && value >= least && value <= most;
const check = (name, value, least, most) => {
  if (!isInteger(value, least, most)) fail(name, `an integer from ${least} to ${most}`);
};
const sameFields = (where, record, known) => {
  const isRecord = record !== null && typeof record === "object" && !Array.isArray(record);
  if (!isRecord || Object.keys(record).sort().join() !== known.join()) fail(where, `an object with ${known.join(", ")}`);
};
const bitLength = (value) => (value === 0 ? 0 : BigInt(value).toString(2).length);

/** Random numbers from a source of 32-bit integers; without one, from the system. */
export class Words {
  constructor(source) {
    this.source = source ? source[Symbol.iterator]() : systemWords();
  }
  word() {
    const { value, done } = this.source.next();
    if (done) throw new Error("the script has no more words");
    return value >>> 0;
  }
  big(bits) {
    const words = Math.ceil(bits / 32);
    let drawn = 0n;
    for (let i = 0; i < words; i++) drawn = (drawn << 32n) | BigInt(this.word());
    return drawn >> BigInt(words * 32 - bits);
  }
  take(bits) {
    if (bits === 0) return 0;
    return bits <= 32 ? this.word() >>> (32 - bits) : Number(this.big(bits));
  }
  below(limit) {
    const bits = bitLength(limit - 1);
    for (;;) {
      const drawn = this.take(bits);
      if (drawn < limit) return drawn;
    }
  }
  heads(weight, bits) {
    return this.take(bits) < weight ? 1 : 0;
  }
}

function* systemWords() {
  for (;;) yield* globalThis.crypto.getRandomValues(new Uint32Array(64));
}

const checkWeight = (p, name) => {
  check("bits", p.bits, 1, 32);
  check(name, p[name], 1, 2 ** p.bits - 1);
};
const total = (p) => 2n ** BigInt(p.bits);

/* Each randomiser: its parameters, the number of answers, the widths of the fields, the worst ratio, and the draw. */
const kary = {
  fields: ["bits", "categories", "truth"],
  check(p) {
    check("categories", p.categories, 2, 2 ** 31);
    checkWeight(p, "truth");
  },
  widths: (p) => [bitLength(p.categories - 1)],
  ratio: (p) => [BigInt(p.truth) * BigInt(p.categories - 1), total(p) - BigInt(p.truth)],
  draw(p, cell, words) {
    const isTrue = words.heads(p.truth, p.bits);
    const shift = 1 + words.below(p.categories - 1);
    return [[(cell + shift) % p.categories, cell][isTrue]];
  },
};

const unary = {
  fields: ["bits", "categories", "hold", "stray"],
  check(p) {
    check("categories", p.categories, 2, 2 ** 16);
    checkWeight(p, "hold");
    checkWeight(p, "stray");
  },
  widths: (p) => new Array(p.categories).fill(1),
  ratio: (p) => [
    BigInt(p.hold) * (total(p) - BigInt(p.stray)),
    BigInt(p.stray) * (total(p) - BigInt(p.hold)),
  ],
  draw(p, cell, words) {
    const weights = new Array(p.categories).fill(p.stray);
    weights[cell] = p.hold;
    return weights.map((weight) => words.heads(weight, p.bits));
  },
};

const hashing = {
  fields: ["bits", "categories", "group_bits", "truth", "width"],
  check(p) {
    check("group_bits", p.group_bits, 1, 30);
    check("width", p.width, p.group_bits + 1, 62);
    check("categories", p.categories, 2, Math.min(2 ** 40, 2 ** (p.width - p.group_bits)));
    checkWeight(p, "truth");
  },
  widths: (p) => [p.width, p.width, p.group_bits],
  ratio: (p) => [BigInt(p.truth) * (2n ** BigInt(p.group_bits) - 1n), total(p) - BigInt(p.truth)],
  draw(p, cell, words) {
    const factor = words.big(p.width);
    const shift = words.big(p.width);
    const groups = 2 ** p.group_bits;
    const hashed = BigInt.asUintN(p.width, factor * BigInt(cell) + shift);
    const group = Number(hashed >> BigInt(p.width - p.group_bits));
    const isTrue = words.heads(p.truth, p.bits);
    const other = 1 + words.below(groups - 1);
    return [factor, shift, [(group + other) % groups, group][isTrue]];
  },
};

const subset = {
  fields: ["bits", "categories", "size_of_set", "truth"],
  check(p) {
    check("categories", p.categories, 2, 2 ** 16);
    check("size_of_set", p.size_of_set, 1, p.categories - 1);
    checkWeight(p, "truth");
  },
  widths: (p) => new Array(p.categories).fill(1),
  ratio: (p) => [
    BigInt(p.truth) * BigInt(p.categories - p.size_of_set),
    (total(p) - BigInt(p.truth)) * BigInt(p.size_of_set),
  ],
  draw(p, cell, words) {
    const isTrue = words.heads(p.truth, p.bits);
    const others = p.categories - 1;
    const moved = new Map();
    const drawn = new Array(p.categories).fill(0);
    let last = cell;
    for (let step = 0; step < p.size_of_set; step++) {
      const place = step + words.below(others - step);
      const found = moved.get(place) ?? place;
      moved.set(place, moved.get(step) ?? step);
      last = found + (found >= cell ? 1 : 0);
      drawn[last] = 1;
    }
    drawn[last] -= isTrue;
    drawn[cell] += isTrue;
    return drawn;
  },
};

const parityOf = (number) => {
  let left = number;
  for (let step = 16; step; step >>= 1) left ^= left >>> step;
  return left & 1;
};
const withParity = (row, bits, parity) => {
  const top = 31 - Math.clz32(row);
  const number = ((bits >>> top) << (top + 1)) | (bits & ((1 << top) - 1));
  return number | ((parityOf(row & number) ^ parity) << top);
};

const hadamard = {
  fields: ["bits", "blocks", "categories", "order", "truth"],
  check(p) {
    check("categories", p.categories, 2, 2 ** 24);
    check("order", p.order, 1, 25);
    check("blocks", p.blocks, Math.ceil(p.categories / (2 ** p.order - 1)), 2 ** 24);
    checkWeight(p, "truth");
  },
  outside: (p) => p.blocks * 2 ** p.order - 2 ** (p.order - 1),
  widths: (p) => [bitLength(p.blocks * 2 ** p.order - 1)],
  ratio: (p) => [
    BigInt(p.truth) * BigInt(hadamard.outside(p)),
    (total(p) - BigInt(p.truth)) * 2n ** BigInt(p.order - 1),
  ],
  draw(p, cell, words) {
    const rows = 2 ** p.order - 1;
    const length = 2 ** p.order;
    const block = Math.floor(cell / rows);
    const row = 1 + (cell % rows);
    const isTrue = words.heads(p.truth, p.bits);
    const inside = words.take(p.order - 1);
    const outside = words.below(hadamard.outside(p));
    const beyond = outside - length / 2;
    let other = Math.floor(beyond / length);
    other += other >= block ? 1 : 0;
    const lie = beyond < 0
      ? block * length + withParity(row, outside, 1)
      : other * length + (beyond % length);
    return [[lie, block * length + withParity(row, inside, 0)][isTrue]];
  },
};

export const RANDOMISERS = {
  "kary-response": kary,
  "unary-response": unary,
  "local-hashing": hashing,
  "subset-response": subset,
  "hadamard-response": hadamard,
};

const DOMAINS = {
  categories: {
    fields: ["kind", "names", "other"],
    check(domain) {
      const names = domain.names;
      if (!Array.isArray(names) || names.length < 2 || !names.every((name) => typeof name === "string")) {
        fail("domain.names", "a list of at least 2 names");
      }
      if (new Set(names).size < names.length || !names.includes(domain.other)) fail("domain.other", "one of the names");
    },
    cells: (domain) => domain.names.length,
    cell(domain, answer) {
      const place = typeof answer === "string" ? domain.names.indexOf(answer) : -1;
      return place < 0 ? domain.names.indexOf(domain.other) : place;
    },
  },
  range: {
    fields: ["high", "kind", "low"],
    check(domain) {
      check("domain.low", domain.low, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      check("domain.high", domain.high, domain.low + 1, domain.low + 2 ** 40 - 1);
    },
    cells: (domain) => domain.high - domain.low + 1,
    cell(domain, answer) {
      const number = typeof answer === "bigint" ? Number(answer) : answer;
      if (typeof number !== "number" || Number.isNaN(number)) return 0;
      return Math.min(Math.max(Math.floor(number), domain.low), domain.high) - domain.low;
    },
  },
};

/** The text of a document of which the digest is taken: keys in order, no spaces. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/* Primes' roots, as SHA-256 has them: the first 32 bits of their fractions. */
const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
const fraction = (prime, root) => {
  // The integer root of prime * 2^(32 root), in integers: no rounding of floats enters.
  const target = BigInt(prime) << BigInt(32 * root);
  let low = 0n;
  let high = 1n << 36n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(root) <= target) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
};
const ROUNDS = primes.map((prime) => fraction(prime, 3));
const START = primes.slice(0, 8).map((prime) => fraction(prime, 2));

/** SHA-256 of bytes; crypto.subtle has it in secure contexts alone, and never at once. */
export function sha256(bytes) {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const turned = (word, by) => (word >>> by) | (word << (32 - by));
  const state = START.slice();
  const w = new Int32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => { state[i] = (state[i] + value) | 0; });
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((value, i) => digest.setInt32(4 * i, value));
  return new Uint8Array(digest.buffer);
}

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** The fields of a payload in whole bytes, the highest bit first. */
export function packed(fields, widths) {
  const bits = fields.map((field, i) => (widths[i] ? field.toString(2).padStart(widths[i], "0") : "")).join("");
  const bytes = new Uint8Array(Math.max(1, Math.ceil(bits.length / 8)));
  for (let i = 0; i < bits.length; i++) if (bits[i] === "1") bytes[i >> 3] |= 128 >> (i & 7);
  return bytes;
}

/** A protocol document, checked. */
export class Survey {
  constructor(document) {
    const record = typeof document === "string" ? JSON.parse(document) : document;
    sameFields("document", record, FIELDS);
    if (record.dither !== KIND || record.version !== VERSION || record.entropy !== ENTROPY) {
      fail("document", `a ${KIND} of version ${VERSION} with ${ENTROPY}`);
    }
    // No controls, no marks of direction, one line; as Python's isprintable has it, with spaces of all kinds.
    if (typeof record.question !== "string" || !/^[^\p{C}\p{Zl}\p{Zp}]{1,1000}$/u.test(record.question)) {
      fail("question", "one line of 1 to 1000 characters that show");
    }
    const known = (table, name) => typeof name === "string" && Object.hasOwn(table, name);
    if (!known(DOMAINS, record.domain?.kind)) fail("domain.kind", `one of ${Object.keys(DOMAINS).join(", ")}`);
    if (!known(RANDOMISERS, record.randomiser)) fail("randomiser", `one of ${Object.keys(RANDOMISERS).join(", ")}`);
    this.kind = DOMAINS[record.domain.kind];
    this.law = RANDOMISERS[record.randomiser];
    sameFields("domain", record.domain, this.kind.fields);
    sameFields("parameters", record.parameters, this.law.fields);
    this.kind.check(record.domain);
    this.law.check(record.parameters);
    if (this.kind.cells(record.domain) !== record.parameters.categories) fail("categories", "the number of answers");
    const [over, under] = this.ratio(record);
    if (over <= under) fail("parameters", "weights by which a payload is likelier under its own answer than under another");
    if (over * 10n ** 20n > under * MOST_RATIO) fail("parameters", "those of a law that loses at most epsilon 20");
    this.record = record;
    this.digest = sha256(new TextEncoder().encode(canonical(record))).slice(0, 16);
    this.identifier = hex(this.digest);
    // Up by more than both logarithms can be off.
    this.epsilon = (Math.log(Number(over)) - Math.log(Number(under))) * (1 + 1e-12) + 1e-12;
  }
  ratio(record = this.record) {
    return this.law.ratio(record.parameters);
  }
  /** A fresh report, which is a new loss each time; Client keeps to one. */
  draw(answer, words = new Words()) {
    const nonce = packed([words.big(128)], [128]);
    const fields = this.law.draw(this.record.parameters, this.kind.cell(this.record.domain, answer), words);
    const payload = packed(fields, this.law.widths(this.record.parameters));
    return base64url([...this.digest, ...nonce, ...payload]);
  }
}

/** Answers a survey once: the cost is stored before the first random bit, and the report before it is returned. */
export class Client {
  constructor(document, { cap, storage = globalThis.localStorage } = {}) {
    this.survey = document instanceof Survey ? document : new Survey(document);
    if (!(cap > 0)) fail("cap", "above 0: the most epsilon for all surveys together");
    this.cap = cap;
    this.storage = storage;
  }
  get book() {
    return JSON.parse(this.storage.getItem(BOOK) ?? "{}");
  }
  get spent() {
    return Object.values(this.book).reduce((sum, line) => sum + line.epsilon, 0);
  }
  async report(answer) {
    const locks = globalThis.navigator?.locks;
    return locks ? locks.request(BOOK, () => this.reportNow(answer)) : this.reportNow(answer);
  }
  reportNow(answer) {
    const { identifier, epsilon } = this.survey;
    const line = this.book[identifier];
    if (line?.report) return line.report;
    if (line) throw new Error("a report to this survey was paid for and not stored: it is not drawn again");
    if (this.spent + epsilon > this.cap) throw new Error("the cap over all surveys is reached");
    this.write(identifier, { epsilon, report: null });
    const report = this.survey.draw(answer);
    this.write(identifier, { epsilon, report });
    return report;
  }
  write(identifier, line) {
    this.storage.setItem(BOOK, JSON.stringify({ ...this.book, [identifier]: line }));
  }
}
