/** Letters that tell members of tickets. */
import { expect } from 'bun:test'
import { type ParsedMail, simpleParser } from 'mailparser'
import type { Client } from './api'
import type { Desk, StartedDesk } from './desk'
import { drain } from './mail'

/** Has a member told for these reasons, and no others. */
export async function wants(client: Client, ...reasons: string[]): Promise<void> {
  const all = ['assigned', 'reply_on_mine', 'mentioned', 'new_unassigned', 'draft_kept']
  const notify = Object.fromEntries(all.map((reason) => [reason, reasons.includes(reason) ? 'mail' : 'none']))
  const answer = await client.patch('/auth/me', { notify })
  expect([answer.status, answer.body.notify]).toEqual([200, notify])
}

const given = new WeakSet<object>()

/** Drains the outbox; gives the letters that went to an address and were not given before. */
export async function lettersTo({ sink }: Pick<StartedDesk, 'sink'>, email: string): Promise<ParsedMail[]> {
  await drain()
  const sent = sink.messages.filter((one) => one.to.includes(email) && !given.has(one))
  for (const one of sent) given.add(one)
  return Promise.all(sent.map(({ raw }) => simpleParser(raw)))
}

/** Lets the time pass until which letters wait. */
export async function passTime({ scope: { sql }, id }: Desk): Promise<void> {
  await sql`update outbox set run_at = now() where organization_id = ${id} and kind = 'letter'`
}

/** The address that answers to a letter go to; empty without one. */
export function answerAddress(letter: ParsedMail): string {
  return letter.replyTo?.value[0]?.address ?? ''
}
