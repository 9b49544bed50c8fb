/** Fills an organization with names, texts and answers that would run a script, or push a page aside. */
import type { StartedConsole } from './console'
import { startReceiver } from './receiver'
import { sendMail } from './smtp'

/** Runs a script if it is more than text, turns what follows it around, and has characters of four bytes. */
const HEAD = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\u{1f469}\u{1f3fd}\u200d\u{1f692}\u{1d54f}'
const MOST_OF_NAME = 255

/** Such a text, with no blank in the rest of its length. */
export function hostileText(characters = 360): string {
  return [...`${HEAD}${'W'.repeat(characters)}`].slice(0, characters).join('')
}

/** An answer of a receiver. */
const answer = () => Response.json({ error: hostileText() }, { status: 500 })

/** The receiver of the webhook, whose answers are hostile: start it before the service, which trusts its authority. */
export const startHostileReceiver = () => startReceiver({ answer })

type Desk = Pick<StartedConsole, 'service' | 'sink'>

/** A request that has to succeed. @returns what it answers as `data` */
async function call(desk: Desk, method: string, path: string, body?: unknown) {
  const answer = await desk.service().call(method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body?.data
}

/**
 * Makes one of everything that a page shows.
 * @param address of a mailbox that sends through the sink
 * @returns the subject of the ticket that came by mail, and the id of the other one
 */
export async function fillHostile(desk: Desk, address: string, webhook_url: string) {
  const [name, notes] = [hostileText(MOST_OF_NAME), hostileText()]
  const post = (path: string, body: unknown) => call(desk, 'POST', path, body)
  await call(desk, 'PATCH', '/organization', { name })
  const company = await post('/companies', { name, domains: ['evil.example'], notes, custom: { x: name } })
  const contact = await post('/contacts', {
    name,
    email: `${'m'.repeat(60)}@evil.example`,
    phone: name.slice(0, 50),
    external_id: name,
    notes,
    custom: { x: name },
  })
  const label = await post('/labels', { name: hostileText(64), color: '#EF4444', description: name })
  const user = await post('/users', { name, email: 'mallory@evil.example', password: 'a long password' })
  const webhook = await post('/webhooks', { url: webhook_url, events: ['ticket.created'] })
  await post(`/webhooks/${webhook.id}/test`, undefined)
  const { id } = await post('/tickets', {
    subject: name,
    contact_id: contact.id,
    label_ids: [label.id],
    assignee_id: user.id,
    custom: { x: name },
  })
  await post(`/tickets/${id}/time-entries`, { duration_minutes: 60, description: name, rate: 10 })
  await post(`/tickets/${id}/timer/start`, { description: name })
  await post(`/tickets/${id}/participants`, { email: `${'p'.repeat(60)}@evil.example` })
  desk.sink.answer(({ stage }) => (stage === 'rcpt' ? `550 5.1.1 ${HEAD}${'W'.repeat(300)}` : undefined))
  await post(`/tickets/${id}/messages`, { body: notes })
  desk.sink.answer()
  await post('/macros', { name, body: notes, changes: { status: 'pending', label_ids: [label.id] } })
  await post('/views', { name, filter: { search: name.slice(0, 100) } })
  await post('/api-keys', { name, permissions: ['*:read', '*:write', 'audit_log:read'] })
  await post('/domains', { domain: 'desk.example' })
  await post('/sender-rules', { sender: 'spam.example', action: 'block' })
  await call(desk, 'PATCH', '/retention', {
    rules: [{ status: 'closed', days: 9, action: 'erase', company_ids: [company.id] }],
    hold_label_ids: [label.id],
  })
  await post('/mailboxes', {
    address: `${'s'.repeat(60)}@desk.example`,
    name,
    signature: notes,
    smtp: { host: '127.0.0.1', port: 1, security: 'none' },
  })
  return { subject: await mailTo(desk, address), ticket_id: id as string }
}

/** Mail whose subject, names, files and Message-ID are hostile. */
async function mailTo(desk: Desk, to: string): Promise<string> {
  const from = 'mallory@evil.example'
  const subject = hostileText(MOST_OF_NAME)
  const mail = {
    from: { name: subject, address: from },
    cc: `${'c'.repeat(60)}@evil.example`,
    replyTo: `${'r'.repeat(60)}@evil.example`,
    subject,
    messageId: `<${'W'.repeat(300)}@evil.example>`,
    text: hostileText(),
    attachments: [{ filename: `${HEAD}${'W'.repeat(150)}.pdf`, content: 'no pdf' }],
  }
  const { code, response } = await sendMail({ port: desk.service().smtp_port, from, to, mail })
  if (code !== 250) throw new Error(response)
  return subject
}
