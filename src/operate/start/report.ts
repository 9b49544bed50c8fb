/** Shows the table of settings: to an operator with the values of this machine, in the guide without them. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { config, givenText } from '../../base/config'
import type { Setting } from '../../base/settings/setting'
import { SETTINGS, type SettingName } from '../../base/settings/table'

type ReportedSetting = {
  name: SettingName
  /** The present value as text: `***` for a secret, null for none. */
  value: string | null
  /** Where the present value comes from: `environment`, `default` or the path of a file. */
  source: string
  /** The default in words; null for none. */
  default: string | null
  meaning: string
}

const MASK = '***'
const ENTRIES = Object.entries(SETTINGS) as [SettingName, Setting][]

/** Every setting of this process in the order of the table. It holds no secret, nor user and password of a URL. */
export function reportSettings(): ReportedSetting[] {
  return ENTRIES.map(([name, setting]) => ({
    name,
    ...presentValue(name, setting),
    default: defaultInWords(setting)?.replaceAll('`', '') ?? null,
    meaning: setting.meaning.replaceAll('`', ''),
  }))
}

/** The report as text for a terminal: a block of lines for each setting. */
export function settingsText(): string {
  const blocks = reportSettings().map((setting) => [
    `${setting.name} = ${setting.value ?? '(none)'}`,
    `    Source: ${setting.source}. Default: ${setting.default ?? 'none'}.`,
    `    ${setting.meaning}`,
  ])
  return blocks.map((lines) => lines.join('\n')).join('\n\n')
}

/** The guide's two tables in Markdown: first the settings that a new operator sets, then the others. */
export function settingsMarkdown(): string {
  const basic = ENTRIES.filter(([, setting]) => setting.is_basic)
  const others = ENTRIES.filter(([, setting]) => !setting.is_basic)
  return [
    ...['The ten that a new operator sets:', '', ...markdownTable(basic), ''],
    ...['All others:', '', ...markdownTable(others)],
  ].join('\n')
}

function markdownTable(entries: [SettingName, Setting][]): string[] {
  const rows = entries.map(([name, setting]) => {
    const { default: fixed, meaning } = setting
    const default_cell = typeof fixed === 'string' && fixed ? `\`${fixed}\`` : (defaultInWords(setting) ?? 'none')
    return `| \`${name}\` | ${default_cell} | ${meaning} |`
  })
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows]
}

function defaultInWords(setting: Setting): string | undefined {
  return setting.default_words ?? (typeof setting.default === 'string' ? setting.default || undefined : undefined)
}

function presentValue(name: SettingName, setting: Setting): { value: string | null; source: string } {
  const given = givenText(name)
  if (given !== undefined) return { value: setting.is_secret ? MASK : withoutPassword(given), source: 'environment' }
  const file = setting.generated_file && path.join(config.DATA_DIR, setting.generated_file)
  if (file && existsSync(file)) return { value: MASK, source: file }
  const value = typeof setting.default === 'string' ? setting.default : setting.default?.(config)
  // The default of a secret may be another secret.
  return { value: value ? (setting.is_secret ? MASK : String(value)) : null, source: 'default' }
}

/** Masks what a URL may hold of secrets: user, password and parameters. Any other text stays as it is. */
function withoutPassword(text: string): string {
  // Not by `new URL`, which refuses several hosts.
  const [, protocol, user, rest, search] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*@)?([^?]*)(\?.*)?$/is.exec(text) ?? []
  return protocol === undefined ? text : `${protocol}${user ? `${MASK}@` : ''}${rest}${search ? `?${MASK}` : ''}`
}
