/** Mail for the parser, written line by line. */

/** Lines to the bytes of a message; characters up to U+00FF are bytes. */
export function mail(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

export const FROM = 'From: Ann <ann@example.com>'

/** Parts between boundaries `b`, with the last one. */
export function parts(...bodies: string[][]): string[] {
  return [...bodies.flatMap((lines) => ['--b', ...lines]), '--b--', '']
}
