/** One line for each event: JSON, or readable text on a terminal. Never hand it secrets, bodies or addresses. */
import pino, { type LoggerOptions } from 'pino'
import pretty from 'pino-pretty'
import { config } from './config'

const options: LoggerOptions = {
  level: config.LOG_LEVEL,
  base: undefined,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
}

/** Standard output of an operator's command has its result and nothing else. */
const [output, fd] = process.argv[1]?.endsWith('/cli.ts') ? [process.stderr, 2] : [process.stdout, 1]

export const log =
  config.LOG_FORMAT === 'text'
    ? pino(options, pretty({ colorize: output.isTTY, translateTime: 'HH:MM:ss', sync: true, destination: fd }))
    : pino(options, pino.destination(fd))

/**
 * What may be logged of an error: its name, code and stack. Drizzle's messages hold the parameters of the statement
 * and driver errors hold values (`detail`), so neither is passed on whole.
 */
export function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error }
  const cause = error.cause
  const inner = cause instanceof Error ? safeError(cause) : undefined
  const code = 'code' in error ? error.code : undefined
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  const message = code !== undefined || inner ? undefined : error.message
  return { name: error.name, code, message, stack: frames.slice(0, 6).join('\n'), cause: inner }
}
