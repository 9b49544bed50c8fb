/** Lists too large to be held at once: they come some items at a time, each when the ones before have been taken. */
export type Steps<T> = AsyncIterable<T[]>

/** `T`, whose lists may come in steps. */
export type InSteps<T> = {
  [field in keyof T]: T[field] extends (infer Item)[]
    ? T[field] | Steps<Item>
    : T[field] extends object
      ? InSteps<T[field]>
      : T[field]
}

/** How much text is handed on at once, where items are small. */
const PIECE_LENGTH = 64 * 1024

/** The text that `JSON.stringify` gives for a value with plain lists in the place of those in steps. */
export async function* jsonInSteps(value: unknown): AsyncGenerator<string> {
  let text = ''
  for await (const piece of piecesOf(value)) {
    if (piece.length < PIECE_LENGTH) {
      text += piece
      if (text.length < PIECE_LENGTH) continue
      yield text
    } else {
      // Joined to others it would be copied.
      yield text
      yield piece
    }
    text = ''
  }
  yield text
}

async function* piecesOf(value: unknown): AsyncGenerator<string> {
  if (isSteps(value)) {
    let before = '['
    for await (const items of value) {
      for (const item of items) {
        yield before
        yield JSON.stringify(item)
        before = ','
      }
    }
    yield before === '[' ? '[]' : ']'
  } else if (hasSteps(value)) {
    let before = '{'
    for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
      if (field === undefined) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* piecesOf(field)
      before = ','
    }
    yield '}'
  } else {
    yield JSON.stringify(value)
  }
}

/** Tells if the value, or an object within it, holds a list that comes in steps. */
export function hasSteps(value: unknown): boolean {
  return isSteps(value) || (isPlain(value) && Object.values(value).some(hasSteps))
}

function isSteps(value: unknown): value is Steps<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
