/** Marks that turn the direction of what follows them, so that `exe.png` is read where `gnp.exe` stands. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g

/** A name without such marks, for a sentence or where somebody types it. */
export function withoutTurns(text: string): string {
  return text.replace(TURNS, '')
}

/** A text that shows each of them by its number, for what was sent and received. */
export function withTurnsShown(text: string): string {
  return text.replace(TURNS, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`)
}
