/** A list too large for memory: it comes some items at a time, once the items before have been taken. */
export type Steps<T> = AsyncIterable<T[]>

/** The type `T`, except that its lists may come in steps. */
export type InSteps<T> = {
  [field in keyof T]: T[field] extends (infer Item)[]
    ? T[field] | Steps<Item>
    : T[field] extends object
      ? InSteps<T[field]>
      : T[field]
}

/** Characters that are collected before they are yielded. */
const PIECE_LENGTH = 64 * 1024

/** Yields the text that `JSON.stringify` would return if the lists in steps were plain lists. */
export async function* jsonInSteps(value: unknown): AsyncGenerator<string> {
  let text = ''
  for await (const piece of piecesOf(value)) {
    if (piece.length < PIECE_LENGTH) {
      text += piece
      if (text.length < PIECE_LENGTH) continue
      yield text
    } else {
      // A long piece is not joined to others: that would copy it.
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
