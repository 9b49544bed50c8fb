/** Tells those who keep in memory what a database has that its connections close: another one may follow. */

const closers: (() => void)[] = []

/** @param forget drops what names rows of the database */
export function onDatabaseClosed(forget: () => void): void {
  closers.push(forget)
}

/** The connections are closed. */
export function forgetDatabase(): void {
  for (const forget of closers) forget()
}
