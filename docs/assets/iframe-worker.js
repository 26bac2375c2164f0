// Search from the disk: a page that was opened as a file may not start a worker, so a hidden frame does its work.
//
// The search of the theme runs in a worker, which browsers refuse to files. Where the page is a file, this takes the
// place of the worker: the same script runs in an empty frame of the same page, and messages go both ways as events.
// The theme looks for the name IFrameWorker to find its other scripts. Pages from a server keep their workers.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      document.body.appendChild(frame)
      const inside = (this.inside = frame.contentWindow)
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          script.src = source
          script.onload = done
          script.onerror = () => failed(new Error(`${source} cannot be read`))
          inside.document.body.appendChild(script)
        })
      // What the script says goes to whoever made the worker.
      inside.postMessage = (data) => {
        const said = new MessageEvent("message", { data })
        this.dispatchEvent(said)
        if (this.onmessage) this.onmessage(said)
      }
      // Workers load further scripts at once; frames one after the other.
      inside.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => load(next)), Promise.resolve())
      this.frame = frame
      this.ready = load(String(new URL(url, location.href)))
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
