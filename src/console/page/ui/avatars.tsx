/** People without a picture: their initials on a colour that stays theirs. */

const COLOURS = 8

/** Initials of a name on a colour. Screen readers get the name from what stands beside it. */
export function Avatar({ name, is_small }: { name: string; is_small?: boolean }) {
  return (
    <span
      class={`avatar avatar-${colourOf(name)}${is_small ? ' small' : ''}`}
      title={name}
      data-initials={initialsOf(name)}
      aria-hidden="true"
    />
  )
}

/** The first letters of the first and the last word; an address counts up to its @. */
function initialsOf(name: string): string {
  const words = name
    .replace(/@.*/, '')
    .split(/[\s._-]+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words
  return ends.map((word) => /[\p{L}\p{N}]/u.exec(word)![0].toUpperCase()).join('') || '?'
}

function colourOf(name: string): number {
  let sum = 0
  for (const character of name) sum = (sum * 31 + character.codePointAt(0)!) % 9973
  return sum % COLOURS
}
