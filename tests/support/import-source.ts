/** A folder of any size to import, each row of which follows from its number. */
import fs from 'node:fs'
import path from 'node:path'

const WORDS =
  'printer invoice ticket window server account password delivery customer answer question network update paper contract meeting report please thanks tomorrow yesterday screen keyboard error message order payment refund shipping address phone number install license version browser cable monitor battery charger'.split(
    ' ',
  )
/** When the first ticket was made; each later one a minute after the one before. */
export const BASE_MS = Date.parse('2023-01-01T00:00:00Z')
export const MINUTE_MS = 60_000
/** Minutes after which the messages of a ticket are written: a batch of them is of as many tickets. */
const WRITTEN_AFTER = [0, 37, 211, 1009]
const STATUSES = ['open', 'pending', 'resolved', 'closed', 'closed', 'closed']
/** Bytes that are written at once. */
const CHUNK = 4_000_000
const FILE_BYTES = 4000

export const MESSAGES_OF_A_TICKET = WRITTEN_AFTER.length

export type SourceSize = { tickets: number; contacts: number; files: number }

/** A size with so many tickets: four times as many messages, and half as many files. */
export function sizeOf(tickets: number): SourceSize {
  return { tickets, contacts: Math.ceil(tickets / 10), files: Math.floor(tickets / 2) }
}

export function ticketOf(n: number, { contacts }: SourceSize) {
  return {
    id: `t${n}`,
    code: `TKT-${n + 1000}`,
    subject: `Number ${n} ${text(n, 5)}`,
    contact_id: `c${n % contacts}`,
    status: STATUSES[n % STATUSES.length]!,
    priority: ['low', 'normal', 'normal', 'high'][n % 4]!,
    label_ids: [`l${n % 20}`],
    created_at: timeAt(n),
    updated_at: timeAt(n + WRITTEN_AFTER.at(-1)!),
  }
}

/** The message of a ticket at a place, 0 for the first. The first of every second ticket has a file. */
export function messageOf(n: number, place: number, { contacts }: SourceSize) {
  const body = `Message ${place} of ${n}: ${text(n * 7 + place, 70)}.`
  const is_inbound = place % 2 === 0
  return {
    id: `m${n}-${place}`,
    ticket_id: `t${n}`,
    direction: is_inbound ? 'inbound' : 'outbound',
    sender: is_inbound
      ? { name: `Carla ${n % contacts}`, email: `c${n % contacts}@customer.example` }
      : { name: 'Ann' },
    body,
    ...(n % 2 === 0 && { body_html: `<p>Message <b>${place}</b> of ${n}</p><p>${body}</p>` }),
    email_message_id: `${n}.${place}@old.example`,
    ...(place > 0 && { references: [`${n}.${place - 1}@old.example`] }),
    created_at: timeAt(n + WRITTEN_AFTER[place]!),
    ...(place === 0 && n % 2 === 0 && { attachments: [{ url: `files/${n % 1000}/${n}`, filename: `${n}.txt` }] }),
  }
}

/** The lines of a file. */
export function fileOf(n: number): string {
  return `file ${n} `.padEnd(FILE_BYTES - (n % 1000), 'x')
}

/** Writes all files of the folder. */
export function writeSource(folder: string, size: SourceSize): void {
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
  writeLines(folder, 'contacts', contactsOf(size))
  writeLines(
    folder,
    'labels',
    numbers(20).map((n) => ({ id: `l${n}`, name: `Label ${n}` })),
  )
  writeLines(folder, 'tickets', ticketsOf(size))
  writeLines(folder, 'messages', messagesOf(size))
  for (const n of numbers(Math.min(1000, size.tickets)))
    fs.mkdirSync(path.join(folder, `files/${n}`), { recursive: true })
  for (let n = 0; n < size.tickets; n += 2) fs.writeFileSync(path.join(folder, `files/${n % 1000}/${n}`), fileOf(n))
}

function* contactsOf({ contacts }: SourceSize) {
  for (let n = 0; n < contacts; n++) yield { id: `c${n}`, name: `Carla ${n}`, email: `c${n}@customer.example` }
}

function* ticketsOf(size: SourceSize) {
  for (let n = 0; n < size.tickets; n++) yield ticketOf(n, size)
}

/** In the order of their times, as an export has them. */
function* messagesOf(size: SourceSize) {
  for (let minute = 0; minute < size.tickets + WRITTEN_AFTER.at(-1)!; minute++) {
    for (const [place, after] of WRITTEN_AFTER.entries()) {
      const n = minute - after
      if (n >= 0 && n < size.tickets) yield messageOf(n, place, size)
    }
  }
}

function writeLines(folder: string, name: string, rows: Iterable<object>): void {
  const fd = fs.openSync(path.join(folder, `${name}.jsonl`), 'w')
  let chunk = ''
  for (const row of rows) {
    chunk += `${JSON.stringify(row)}\n`
    if (chunk.length < CHUNK) continue
    fs.writeSync(fd, chunk)
    chunk = ''
  }
  fs.writeSync(fd, chunk)
  fs.closeSync(fd)
}

function timeAt(minute: number): string {
  return new Date(BASE_MS + minute * MINUTE_MS).toISOString()
}

/** Words that follow from a number. */
function text(seed: number, words: number): string {
  let state = seed * 2654435761 + 12345
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return state >>> 8
  }
  return Array.from(
    { length: words },
    () => WORDS[next() % WORDS.length]! + (next() % 9 === 0 ? next() % 5000 : ''),
  ).join(' ')
}
