/** Names of charsets as real mail writes them, and the standard names that they mean. */

/** Charsets by names that mean less than real mail writes under them, or that no standard knows. */
const ALIASES: Record<string, string> = {
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  '7bit': 'utf-8',
  '8bit': 'utf-8',
  utf8: 'utf-8',
  'utf-8mb4': 'utf-8',
  cp936: 'gb18030',
  'euc-cn': 'gb18030',
  cp949: 'euc-kr',
  ms949: 'euc-kr',
  uhc: 'euc-kr',
  'x-windows-949': 'euc-kr',
  cp932: 'shift_jis',
  cp50220: 'iso-2022-jp',
  iso8859_1: 'windows-1252',
  latin1: 'windows-1252',
  'ansi_x3.4-1968': 'utf-8',
  'x-mac-ce': 'maccenteuro',
  'x-user-defined': 'windows-1252',
}

/** Charsets by the beginning of a name, as libraries and old programs spell them. */
const FAMILIES: [RegExp, string][] = [
  [/^(?:x-)*big[-_]?5/, 'big5'],
  [/^(?:x-)?gb[-_k0-9]/, 'gb18030'],
  [/^(?:cs)?iso-?2022-?jp/, 'iso-2022-jp'],
  [/^(?:x-)?(?:s-?jis|shift[-_]?jis)/, 'shift_jis'],
  [/^(?:x-)?euc[-_]?kr/, 'euc-kr'],
]

/** The standard name of a charset; '' when none is given. */
export function charsetName(declared?: string | null): string {
  const name = (declared ?? '').toLowerCase().replace(/^["'\s]+|["'\s;]+$/g, '')
  return ALIASES[name] ?? FAMILIES.find(([spelling]) => spelling.test(name))?.[1] ?? name
}

/** True for a charset that the platform decodes. */
export function isKnownCharset(charset: string): boolean {
  try {
    return Boolean(new TextDecoder(charset))
  } catch {
    return false
  }
}
