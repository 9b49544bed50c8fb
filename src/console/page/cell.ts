/** Values that several parts of the page show. */
import { useLayoutEffect, useReducer } from 'preact/hooks'

/** A value that tells its listeners when it is another one. */
export class Cell<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set value(value: T) {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of [...this.#listeners]) listener()
  }

  /** @returns what ends it */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** The value of a cell; the component is drawn again when it changes. */
export function useCell<T>(cell: Cell<T>): T {
  const { value } = cell
  const [, draw] = useReducer((times: number) => times + 1, 0)
  // At once: a key that is pressed next acts on what is there then.
  useLayoutEffect(() => {
    if (!Object.is(cell.value, value)) draw(undefined)
    return cell.listen(() => draw(undefined))
  }, [cell])
  return value
}
