/**
 * Parses mail in processes, one message at a time in each, so that no message can stop the service or another
 * message. Threads do not serve: Bun cannot end a thread that is within a regular expression, nor limit its memory.
 *
 * Every message begins in the quick lane, which has as many processes as there are processors, or one where memory is
 * short; the slow lane has one. A message that takes more than two seconds of a processor there is ended and begins
 * again in the slow lane, which has a low priority: other mail waits two seconds for such a message, never for its end.
 * In both lanes organizations take turns.
 */
import { constants } from 'node:os'
import { createLane, mostProcesses } from '../../base/process/lane'
import { Ended, Refused, type WorkLimits } from '../../base/process/lane-worker'
import { type Answer, type AnsweringMail, answerOf } from './answer-words'
import type { EnvelopeSender } from './bounce'
import { type ParsedMail, UnparsableMail } from './parse'
import type { AnswerWork, CompareWork, ParseWork } from './process-main'
import { isCopy, type Returning } from './same-text'

/** Processor time. Only mail that was made to take long takes longer. */
const QUICK_MS = 2000
/** Characters of a text or HTML that is worked on at once. */
const SHORT = 10_000
/** Messages in work or waiting in the slow lane. Patient ones do not count. */
const SLOW_MOST = 2
/** The same of one group, where patient ones count: another one waits for a single message of it. */
const SLOW_MOST_OF_GROUP = 1
export type ParserOptions = {
  /** Time of a processor, in the quick lane. */
  quick_ms?: number
  /** Time of the clock, in the slow lane. */
  timeout_ms?: number
  /** Limit of each lane. */
  max_memory_bytes?: number
  /** Begins in the slow lane: the message took long before. */
  is_slow?: boolean
  /** Waits for its turn in the slow lane, however many messages wait there. */
  is_patient?: boolean
  /** Holds the same bytes: the quick lane reads it itself. Sending 25 MB takes 50 MB in both processes. */
  file?: string | null
  /** As in `Envelope`, as far as it is known. */
  envelope_sender?: EnvelopeSender
  /** Id of the organization whose message it is. Groups take turns. Without it a message is in no group. */
  group?: string
  /** Called when a process gets the message; again when it begins anew in the slow lane. */
  onStart?(): void
}

/** Says that the slow lane is full. It says nothing about the message. */
export class ParserBusy extends Error {
  override readonly name = 'ParserBusy'
}

type Parser = {
  /**
   * Parses a message. Messages wait for their turn; limits count from the start of the work.
   * @throws UnparsableMail when the parser refuses the message, or when in both lanes the message runs out of time or
   *   memory or the process dies; ParserBusy when the message should be tried again later with `is_slow`; another
   *   error, which says nothing about the message, when no process could be started or the parser is closed
   */
  parse(raw: Uint8Array, options?: ParserOptions): Promise<ParsedMail>
  /**
   * Takes the words of an answer out of a parsed mail, of a long one in the quick lane.
   * @returns null when that takes too long
   */
  answerOf(mail: AnsweringMail, group?: string): Promise<Answer | null>
  /** Tells if a mail is a copy of what we sent, of long texts in the quick lane; false when that takes too long. */
  isCopy(mail: Returning, group?: string): Promise<boolean>
  /** Ends the processes and the work in them. */
  close(): Promise<void>
}

const SCRIPT = new URL('./process-main.ts', import.meta.url)

/**
 * Makes a parser. Its processes start with the first message, and again after their end.
 * @param script the program of the processes
 */
export function createParser(script = SCRIPT): Parser {
  const quick = createLane(script, { processes: mostProcesses() })
  const slow = createLane(script, { priority: constants.priority.PRIORITY_BELOW_NORMAL })
  /** Messages in work or waiting in the slow lane. */
  const slow_ones = new Set<Waiting>()

  async function parseSlowly(work: ParseWork, limits: SizedLimits, one: Waiting): Promise<ParsedMail> {
    slow_ones.add(one)
    try {
      return await parseIn(slow, work, limits, one.group)
    } catch (error) {
      throw error instanceof Ended ? new UnparsableMail(error.message, { cause: error.cause }) : error
    } finally {
      slow_ones.delete(one)
      if (slow_ones.size === 0) await slow.rest()
    }
  }

  /** Works on short texts here, and on others in the quick lane. @returns null when that takes too long */
  async function inQuick<Result>(work: object, texts: string[], group: string | undefined, here: () => Result) {
    const size = texts.reduce((total, { length }) => total + length, 0)
    if (size <= SHORT) return here()
    return quick.run<Result>(work, { group, size, processor_ms: QUICK_MS }).catch((error) => {
      if (error instanceof Ended) return null
      throw error
    })
  }

  return {
    async parse(raw, { is_slow = false, is_patient = false, group, quick_ms = QUICK_MS, ...options } = {}) {
      const { envelope_sender = 'unknown', file, ...given } = options
      const work: ParseWork = { raw, envelope_sender }
      const limits = { ...given, size: raw.length }
      if (!is_slow) {
        try {
          return await parseIn(quick, { ...work, raw: file ?? raw }, { ...limits, processor_ms: quick_ms }, group)
        } catch (error) {
          if (!(error instanceof Ended)) throw error
        }
      }
      if (!is_patient && isFull([...slow_ones], group)) throw new ParserBusy('Other messages take long to parse')
      return parseSlowly(work, limits, { group, is_patient })
    },
    async answerOf({ text, format, body_html, reply_text, quotes }, group) {
      const answering = { text, format, body_html, reply_text, quotes }
      return inQuick({ answering } satisfies AnswerWork, [text, body_html], group, () => answerOf(answering))
    },
    async isCopy(returning, group) {
      const { text, sent } = returning
      const is_copy = await inQuick({ returning } satisfies CompareWork, [text, ...sent], group, () =>
        isCopy(returning),
      )
      return is_copy ?? false
    },
    async close() {
      await Promise.all([quick.close(), slow.close()])
    },
  }
}

type SizedLimits = WorkLimits & { size: number }

async function parseIn(
  lane: ReturnType<typeof createLane>,
  work: ParseWork,
  limits: SizedLimits,
  group: string | undefined,
): Promise<ParsedMail> {
  try {
    return await lane.run<ParsedMail>(work, { ...limits, group })
  } catch (error) {
    throw error instanceof Refused ? new UnparsableMail(error.message) : error
  }
}

type Waiting = Required<Pick<ParserOptions, 'is_patient'>> & Pick<ParserOptions, 'group'>

/** Tells if the slow lane takes no other message of a group. */
function isFull(slow_ones: Waiting[], group: string | undefined): boolean {
  const of_group = slow_ones.filter((one) => group !== undefined && one.group === group)
  return of_group.length >= SLOW_MOST_OF_GROUP || slow_ones.filter((one) => !one.is_patient).length >= SLOW_MOST
}

const parser = createParser()

/** Parses with the parser of this service. @throws as `Parser.parse` does */
export function parseInWorker(raw: Uint8Array, options?: ParserOptions): Promise<ParsedMail> {
  return parser.parse(raw, options)
}

/** Takes the words of an answer out of a mail as `Parser.answerOf` does, with the parser of this service. */
export function answerInWorker(mail: AnsweringMail, group: string): Promise<Answer | null> {
  return parser.answerOf(mail, group)
}

/** Tells if a mail is a copy of what we sent as `Parser.isCopy` does, with the parser of this service. */
export function isCopyInWorker(mail: Returning, group: string): Promise<boolean> {
  return parser.isCopy(mail, group)
}

/** Ends the parser of this service and the work in it. */
export function closeParser(): Promise<void> {
  return parser.close()
}
