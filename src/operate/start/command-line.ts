/** Reads the command line of `bun run cli`: finds the command in a table, reads its options, and prints the help. */
import { parseArgs } from 'node:util'
import { isEmailAddress } from '../../base/address/email'
import type { Connection } from '../../base/db/transact'
import { OperatorError } from '../../base/errors'

/** The values of `--name value`; a flag without a value is true. */
export type Options = Record<string, string | boolean | undefined>

type Described = {
  /** One or two words. */
  name: string
  /**
   * The options as the help shows them, `--name VALUE` or `--flag`, in brackets when they may be left out. Words before
   * them, `FOLDER`, are arguments without a name; their values are options such as `folder`. `...` hands over all
   * arguments as they are.
   */
  options?: string
  /** Its purpose, in one sentence for the help. */
  meaning: string
}

/** A command. Its result is printed: text as it is, anything else as one JSON line for each row. */
export type Command = Described &
  (
    | {
        /** It opens what it needs by itself. */
        needs: 'nothing'
        run(options: Options, args: string[]): unknown
      }
    | {
        /** `new database` makes the embedded one when there is none. `database` refuses then: it would be empty. */
        needs: 'database' | 'new database'
        /** Connections to the database, 2 when left out. */
        pool_size?: number
        run(options: Options, connection: Connection): Promise<unknown>
      }
  )

/** A call that is wrong. Its message is one line. */
export class UsageError extends OperatorError {}

/** A call of nothing that exists. The help follows the message. */
class UnknownCommandError extends OperatorError {
  override readonly exit_code = 2
}

/**
 * Finds the command that the arguments begin with, and reads the rest as its options.
 * @throws UnknownCommandError, UsageError
 */
export function readCommandLine(
  args: string[],
  commands: Command[],
): { command: Command; options: Options; rest: string[] } {
  const words = isHelp(args[0]) ? ['help'] : args
  const command = commands.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
  if (!command) {
    throw new UnknownCommandError(`${args.length > 0 ? 'unknown command' : 'a command is missing'}\n${help(commands)}`)
  }
  const rest = words.slice(command.name.split(' ').length)
  // A command that hands over its arguments has the help of the other program.
  if (isHelp(rest[0]) && command.options !== '...') return { command: helpOn(command), options: {}, rest: [] }
  return { command, options: command.options === '...' ? {} : readOptions(rest, command.options ?? ''), rest }
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

/** Shows one command instead of running it. */
function helpOn({ name, options, meaning }: Command): Command {
  const shown = help([{ name, options, meaning }])
  return { name, meaning, needs: 'nothing', run: () => shown }
}

/** All commands: each with its options, and below it what it does. */
export function help(commands: Described[]): string {
  const blocks = commands.map(({ name, options = '', meaning }) => [
    `  bun run cli ${name} ${options}`.trimEnd(),
    `      ${meaning}`,
  ])
  return [commands.length === 1 ? 'Command:' : 'Commands:', ...blocks.flat()].join('\n')
}

/** @throws UsageError when the option is missing or blank */
export function requiredOption(options: Options, name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || !value.trim()) throw new UsageError(`--${name} is required`)
  return value.trim()
}

/** @throws UsageError when the option is missing or not an email address */
export function emailOption(options: Options, name: string): string {
  const email = requiredOption(options, name)
  if (!isEmailAddress(email)) throw new UsageError(`--${name} must be an email address`)
  return email
}

/** @param described the options as the help shows them, such as `--organization ID [--json]` */
function readOptions(args: string[], described: string): Options {
  const named = [...described.matchAll(/--([a-z-]+)( [A-Z]+)?/g)]
  const options = Object.fromEntries(
    named.map(([, name, value]) => [name!, { type: value ? ('string' as const) : ('boolean' as const) }]),
  )
  const names = /^[A-Z]+(?: [A-Z]+)*/.exec(described)?.[0].split(' ') ?? []
  const { values, positionals } = parsedOptions(args, options, names.length > 0)
  if (positionals.length !== names.length) {
    const wanted = names.length === 1 ? 'one argument' : `${names.length} arguments`
    throw new UsageError(`give ${wanted}, ${names.join(' ')}`)
  }
  return { ...values, ...Object.fromEntries(names.map((name, at) => [name.toLowerCase(), positionals[at]])) }
}

function parsedOptions(
  args: string[],
  options: Record<string, { type: 'string' | 'boolean' }>,
  allowPositionals: boolean,
): { values: Options; positionals: string[] } {
  try {
    return parseArgs({ args, options, allowPositionals })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'wrong options')
  }
}
