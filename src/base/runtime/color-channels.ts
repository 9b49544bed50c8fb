/** Reads red, green, blue, alpha (0 to 255) of a CSS colour, or null. Standard twin: @csstools/css-color-parser. */
export function channelsOf(color: string): number[] | null {
  const channels: unknown = Bun.color(color, '[rgba]')
  return Array.isArray(channels) ? channels : null
}
