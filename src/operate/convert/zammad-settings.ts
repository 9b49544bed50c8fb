/** Settings of Zammad that say what its rows mean. */

/** Values of settings by their names. */
export type Setting = Map<string, string>

/** Reads the value of a setting, which is stored as YAML or as JSON. */
export function settingIn(stored: string): string {
  const found = /["']?\bvalue["']?\s*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n}]*))/.exec(stored)
  return (found?.[1] ?? found?.[2] ?? found?.[3] ?? '').trim()
}

/** Without a unit, numbers are minutes, as in releases that had none. */
const UNITS: Record<string, number> = { '': 1, minute: 1, quarter: 15, hour: 60 }
/** Words that organizations write for a unit of their own. */
const WORDS: [RegExp, number][] = [
  [/^(?:min|minutes?|minuten?)\.?$/i, 1],
  [/^(?:h|hrs?|hours?|std|stunden?)\.?$/i, 60],
]

/** The minutes of a unit of logged time; the reason when nobody can tell. */
export function minutesIn(settings: Setting): number | string {
  const unit = settings.get('time_accounting_unit') ?? ''
  if (unit !== 'custom') return UNITS[unit] ?? `its unit "${unit}" is unknown`
  const own = settings.get('time_accounting_unit_custom') ?? ''
  return WORDS.find(([word]) => word.test(own.trim()))?.[1] ?? `its unit "${own}" is no unit of time`
}
