/** Marks that turn the direction of what follows them, so that `exe.png` is read where `gnp.exe` stands. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g

/** Removes such marks from a name, for a sentence or for a field in which somebody types it. */
export function withoutTurns(text: string): string {
  return text.replace(TURNS, '')
}

/** Shows each mark by its number, in text that was sent or received. */
export function withTurnsShown(text: string): string {
  return text.replace(TURNS, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`)
}
