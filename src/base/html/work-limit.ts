/** Limits the work that one body makes for the sanitizer, which would hold all other requests meanwhile. Pure. */

/** Open elements at once, as the parser counts them: each costs it as much as there are open ones. */
const MAX_OPEN = 1000
/** Declarations of one attribute: more are not written by people or mail programs. */
const MAX_DECLARATIONS = 500
/** Declarations of a body: a long newsletter has some thousands. */
const MAX_TOTAL_DECLARATIONS = 10_000

/** Signals that a body has more open elements than `limitDepth` lets through, because it hides end tags from it. */
export class TooDeep extends Error {}

/** Counts the work for one body. */
export class WorkLimit {
  #open = 0
  #declarations = 0

  /** Notes that the parser has opened an element. @throws TooDeep */
  open(): void {
    this.#open += 1
    if (this.#open > MAX_OPEN) throw new TooDeep()
  }

  /** Notes that the parser has closed an element. */
  close(): void {
    this.#open -= 1
  }

  /** True for a style attribute with a usual number of declarations, while the body has read fewer than its most. */
  canRead(style: string): boolean {
    // Braces are not allowed in an attribute, and cost the parser an error each.
    if (/[{}]/.test(style)) return false
    const declarations = style.replace(/;\s*$/, '').split(';', MAX_DECLARATIONS + 1).length
    if (declarations > MAX_DECLARATIONS) return false
    this.#declarations += declarations
    return this.#declarations <= MAX_TOTAL_DECLARATIONS
  }
}
