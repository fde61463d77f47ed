/** Which pictures are at hand, and which are fetched next, so that scrubbing never waits for long? */

import { Refusal, ask } from "./api.js";

const DECODED_BYTES = 400e6;
const ENCODED_BYTES = 400e6;
const PARALLEL = 4;

/** Pictures by address: those last used decoded, many more as they came from the server. */
export class Pictures {
  /** @param {{onLoad: (address: string) => void, onRefusal: (error: Refusal) => void}} listener */
  constructor({ onLoad, onRefusal }) {
    this.onLoad = onLoad;
    this.onRefusal = onRefusal;
    /** @type {Map<string, ImageBitmap>} oldest first */
    this.decoded = new Map();
    this.decodedBytes = 0;
    /** @type {Map<string, Blob>} oldest first */
    this.encoded = new Map();
    this.encodedBytes = 0;
    /** @type {Map<string, AbortController>} */
    this.active = new Map();
    /** @type {string[]} to decode, most urgent first */
    this.urgent = [];
    /** @type {string[]} to have as they come */
    this.later = [];
  }

  /** A picture that can be drawn now. @param {string} address @returns {ImageBitmap | null} */
  peek(address) {
    const picture = this.decoded.get(address);
    if (picture === undefined) return null;
    this.decoded.delete(address);
    this.decoded.set(address, picture);
    return picture;
  }

  /** How many pictures of this size can be kept decoded. @param {number} width @param {number} height */
  static room(width, height) {
    return Math.max(4, Math.floor(DECODED_BYTES / (4 * width * height)));
  }

  /**
   * Say what is wanted, instead of what was wanted before; what nobody wants any more is no longer waited for.
   * @param {string[]} urgent  to draw soon, most urgent first
   * @param {string[]} later  to have at hand
   */
  want(urgent, later) {
    this.urgent = urgent;
    this.later = this.encodedBytes < ENCODED_BYTES ? later : [];
    const wanted = new Set([...urgent, ...this.later]);
    for (const [address, controller] of this.active) {
      if (!wanted.has(address)) {
        this.active.delete(address);
        controller.abort();
      }
    }
    const first = urgent[0];
    // The picture to be seen now does not queue behind those that may be seen next.
    if (first !== undefined && !this.decoded.has(first) && !this.active.has(first)) this.load(first, true);
    this.startMore();
  }

  startMore() {
    while (this.active.size < PARALLEL) {
      const missing = (/** @type {Map<string, unknown>} */ known) => (/** @type {string} */ address) =>
        !known.has(address) && !this.active.has(address);
      const urgent = this.urgent.find(missing(this.decoded));
      const address = urgent ?? this.later.find(missing(this.encoded));
      if (address === undefined) return;
      this.load(address, urgent !== undefined);
    }
  }

  /** @param {string} address @param {boolean} decode */
  async load(address, decode) {
    const controller = new AbortController();
    this.active.set(address, controller);
    try {
      const blob = this.encoded.get(address) ?? (await (await ask(address, { signal: controller.signal })).blob());
      this.keepEncoded(address, blob);
      if (decode || this.urgent.includes(address)) {
        const picture = await createImageBitmap(blob);
        if (!controller.signal.aborted) this.keepDecoded(address, picture);
      }
    } catch (error) {
      this.forget(address, error);
    }
    if (this.active.get(address) === controller) this.active.delete(address);
    this.startMore();
  }

  /** Do not ask again for what did not come, until it is wanted again. @param {string} address @param {unknown} error */
  forget(address, error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (error instanceof Refusal && this.urgent[0] === address) this.onRefusal(error);
    this.urgent = this.urgent.filter((other) => other !== address);
    this.later = this.later.filter((other) => other !== address);
  }

  /** @param {string} address @param {Blob} blob */
  keepEncoded(address, blob) {
    if (this.encoded.has(address)) return;
    this.encoded.set(address, blob);
    this.encodedBytes += blob.size;
    for (const [oldest, old] of this.encoded) {
      if (this.encodedBytes <= ENCODED_BYTES) break;
      this.encoded.delete(oldest);
      this.encodedBytes -= old.size;
      this.later = [];
    }
  }

  /** @param {string} address @param {ImageBitmap} picture */
  keepDecoded(address, picture) {
    this.decoded.get(address)?.close();
    this.decoded.set(address, picture);
    this.decodedBytes = 0;
    for (const kept of this.decoded.values()) this.decodedBytes += 4 * kept.width * kept.height;
    for (const [oldest, old] of this.decoded) {
      if (this.decodedBytes <= DECODED_BYTES || oldest === address) break;
      this.decoded.delete(oldest);
      this.decodedBytes -= 4 * old.width * old.height;
      old.close();
    }
    this.onLoad(address);
  }
}
