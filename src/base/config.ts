/** The environment, read and checked once. Only this file reads the variables of the process. */
import { OperatorError } from './errors'
import { whyTooOld } from './runtime/needed-bun'
import { type Setting, type Values, WrongValue } from './settings/setting'
import { SETTINGS, type SettingName } from './settings/table'

/** True for a command of the operator, false for the service. */
export const IS_COMMAND = process.argv[1]?.endsWith('/cli.ts') ?? false

/** Tells if a stream is a terminal, outside of CI, where a line can replace the one before. */
export function isLiveTerminal({ isTTY }: { isTTY?: boolean }): boolean {
  return isTTY === true && process.env.TERM !== 'dumb' && !('CI' in process.env)
}

/** A wrong value in the environment. Its message is one line that names the variable. */
export class ConfigError extends OperatorError {
  /** EX_CONFIG of sysexits.h. */
  override readonly exit_code = 78
}

type Environment = Readonly<Record<string, string | undefined>>

/** A setting without a default may be absent. */
type ValueOf<Entry extends Setting> =
  | ReturnType<Entry['read']>
  | (Entry extends { default: infer Default }
      ? Default extends (...above: never[]) => infer Computed
        ? Computed
        : never
      : undefined)

export type Config = { [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> } & {
  /** Tests check every response against its model. Production does not: the select lists are the models' own. */
  CHECK_RESPONSES: boolean
}

/**
 * Reads and checks every setting of the table.
 * @throws ConfigError naming the first variable with a wrong value
 */
export function readConfig(environment: Environment): Config {
  const values: Record<string, unknown> = { CHECK_RESPONSES: environment.NODE_ENV === 'test' }
  const entries: [string, Setting][] = Object.entries(SETTINGS)
  for (const [name, setting] of entries) values[name] = readSetting(name, setting, environment, values)
  for (const [name, setting] of entries) {
    const why = values[name] === undefined ? setting.missing?.(values) : undefined
    if (why) throw new ConfigError(`${name} ${why}`)
  }
  return values as Config
}

function readSetting(name: string, setting: Setting, environment: Environment, above: Values): unknown {
  const text = givenText(name, environment)
  try {
    if (text !== undefined) return setting.read(text)
    return typeof setting.default === 'string' ? setting.read(setting.default) : setting.default?.(above)
  } catch (error) {
    throw error instanceof WrongValue ? new ConfigError(`${name} ${error.message}`) : error
  }
}

/** The trimmed text of a variable; a blank one counts as absent. */
export function givenText(name: string, environment: Environment = process.env): string | undefined {
  return environment[name]?.trim() || undefined
}

/** The settings of this process. Nothing changes them but `withSettings` of the tests. */
export const config: Readonly<Config> = loadConfig()

/**
 * Removes the variables that name a proxy for outgoing connections. Connections go where their destination was checked:
 * a proxy would look the name up again, and could be led elsewhere.
 */
export function ignoreProxies(): void {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    delete process.env[name]
    delete process.env[name.toLowerCase()]
  }
}

function loadConfig(): Config {
  try {
    const why = whyTooOld()
    if (why) throw new ConfigError(why)
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(lastLine(error.message, process.env.LOG_FORMAT))
    process.exit(error.exit_code)
  }
}

/**
 * The line with which a process ends because of an error: like those of the log where these are JSON, so that whoever
 * collects them can read it, else for people.
 * @param format LOG_FORMAT
 */
export function lastLine(message: string, format: string | undefined): string {
  const is_json = format === 'json' || (format !== 'text' && !process.stdout.isTTY)
  if (IS_COMMAND || !is_json) return `deskwire: ${message}\n`
  return `${JSON.stringify({ level: 'fatal', time: new Date().toISOString(), msg: message })}\n`
}
