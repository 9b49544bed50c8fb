declare module 'range-parser' {
  type Ranges = { start: number; end: number }[] & { type: string }
  /** The ranges of a Range header; -1 when none can be satisfied, -2 when the header is malformed. */
  export default function parseRange(size: number, header: string, options?: { combine?: boolean }): Ranges | -1 | -2
}
