/** Knows the boundaries of the multiparts that are open, and recognises their delimiters. Pure. */

type Open = { boundary: string; is_loose: boolean }

/** The level that a line belongs to, and if it is the end of that multipart. */
type Found = { level: number; is_closing: boolean }

/** Boundaries by the level of their multipart. The innermost one counts. */
export class Boundaries {
  readonly #open: Open[] = []
  /** The innermost level of each boundary as it is written, and of those of which only letters and digits count. */
  readonly #levels = new Map<string, number>()
  readonly #loose = new Map<string, number>()

  get depth(): number {
    return this.#open.length
  }

  push(boundary: string): void {
    this.#levels.set(boundary, this.#open.length)
    this.#open.push({ boundary, is_loose: false })
  }

  pop(): void {
    const { boundary, is_loose } = this.#open.pop()!
    this.#forget(this.#levels, boundary, (open) => open.boundary === boundary)
    const normal = normalForm(boundary)
    if (is_loose) this.#forget(this.#loose, normal, (open) => open.is_loose && normalForm(open.boundary) === normal)
  }

  /**
   * Lets the delimiters of the innermost multipart differ from its boundary by blanks, quotes and case: a gateway has
   * changed one of them. Boundaries that differ by case alone are common, so this is for one that never comes.
   * @returns false when they may differ already, or nothing would be left of the boundary
   */
  loosen(): boolean {
    const last = this.#open.at(-1)!
    const normal = normalForm(last.boundary)
    if (last.is_loose || normal === '') return false
    last.is_loose = true
    this.#loose.set(normal, this.#open.length - 1)
    return true
  }

  /** Recognises a line without the dashes before it; null for one that is no delimiter. */
  find(line: string): Found | null {
    return findIn(this.#levels, line) ?? (this.#loose.size === 0 ? null : findIn(this.#loose, line, normalForm))
  }

  #forget(levels: Map<string, number>, key: string, isSame: (open: Open) => boolean): void {
    const outer = this.#open.findLastIndex(isSame)
    if (outer < 0) levels.delete(key)
    else levels.set(key, outer)
  }
}

function findIn(levels: Map<string, number>, line: string, formOf = (boundary: string) => boundary): Found | null {
  const mark = line.lastIndexOf('--')
  const begins = levels.get(formOf(line))
  const level = begins ?? (mark > 0 ? levels.get(formOf(line.slice(0, mark))) : undefined)
  return level === undefined ? null : { level, is_closing: begins === undefined }
}

function normalForm(boundary: string): string {
  return boundary.replace(/[\s"']/g, '').toLowerCase()
}
