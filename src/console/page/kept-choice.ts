/** Choices of a person that stay in the browser, and are shown at once wherever they count. */
import { Cell, useCell } from './cell'

/**
 * @param what the name of the choice
 * @param options the first is taken until another one is chosen
 * @returns reads the choice of a person, with what changes it
 */
export function keptChoice<T extends string>(what: string, options: readonly [T, ...T[]]) {
  const chosen = new Cell<Record<string, T>>({})
  const nameOf = (person_id: string) => `deskwire ${what} ${person_id}`
  const kept = (person_id: string): T => {
    try {
      const text = localStorage.getItem(nameOf(person_id))
      return options.find((one) => one === text) ?? options[0]
    } catch {
      return options[0]
    }
  }
  return function useChoice(person_id: string): [T, (next: T) => void] {
    const now = useCell(chosen)[person_id] ?? kept(person_id)
    const choose = (next: T) => {
      chosen.value = { ...chosen.value, [person_id]: next }
      // A browser may refuse to keep anything: then it holds until the page is left.
      try {
        localStorage.setItem(nameOf(person_id), next)
      } catch {}
    }
    return [now, choose]
  }
}
