/** The log: one line for each event, as JSON or as text for people. Never give it secrets, bodies or addresses. */
import pino, { type LoggerOptions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { config, IS_COMMAND } from './config'
import { createOutput } from './process/output'

const options: LoggerOptions = {
  level: config.LOG_LEVEL,
  base: undefined,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
}

/** Commands of the operator log to standard error, because their standard output is the result. */
const [terminal, descriptor] = IS_COMMAND ? [process.stderr, 2] : [process.stdout, 1]

const format =
  config.LOG_FORMAT === 'text'
    ? prettyFactory({ translateTime: 'HH:MM:ss', singleLine: true, colorize: terminal.isTTY })
    : (line: string) => line

/** Codes of errors that standard error was told: each once, because there may be many lines. */
const told = new Set<string>()
/** Lines on the terminal of a command go where `long-work.ts` lets them pass. */
const output =
  IS_COMMAND && terminal.isTTY
    ? { write: (line: string) => void terminal.write(line), dropped: 0 }
    : createOutput(descriptor, tellLost)

export const log = pino(options, { write: (line) => output.write(format(line)) })

/** Lines of the log that were dropped, because nothing waits for a full disk or a reader that stands still. */
export const droppedLines = () => output.dropped

function tellLost(code: string): void {
  if (IS_COMMAND || told.has(code)) return
  told.add(code)
  const errors = createOutput(2, () => {})
  const words = 'the log cannot be written to standard output: its lines are dropped'
  pino(options, { write: (line) => errors.write(format(line)) }).error({ code }, words)
}

/**
 * Picks from an error what may be logged: name, code, stack, `server` when it is the database's, and the message when
 * there is no code. Errors of the database have a code: Drizzle's messages hold the parameters of the statement, the
 * driver's hold values of rows.
 */
export function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const cause = error.cause
  const inner = cause instanceof Error ? safeError(cause) : undefined
  const code = 'code' in error ? error.code : undefined
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  const message = code !== undefined || inner ? undefined : error.message
  // The driver puts the statement beside its errors: without it one could not tell who refused the connection.
  const server = 'query' in error ? 'database' : undefined
  return { name: error.name, code, server, message, stack: frames.slice(0, 6).join('\n'), cause: inner }
}
