/**
 * People and customers who use a service while it is upgraded: requests and mail, and what must be found afterwards.
 */
import type { Service } from './service'
import { buildMail, sendInSession, startSession } from './smtp'

export type Load = Awaited<ReturnType<typeof prepareLoad>>

const STATUSES = ['open', 'pending']

/** Makes what the load works on. @param service any that runs */
export async function prepareLoad(service: Service, address: string) {
  const create = async (path: string, body: unknown): Promise<string> => {
    const { status, body: answer } = await service.call('POST', path, body)
    if (status !== 201) throw new Error(`${path} answered ${status} ${JSON.stringify(answer)}`)
    return answer.data.id
  }
  await create('/mailboxes', { address })
  const companies = [await create('/companies', { name: 'One' }), await create('/companies', { name: 'Two' })]
  const labels: string[] = []
  for (const name of ['red', 'green', 'blue']) labels.push(await create('/labels', { name, color: '#112233' }))
  const contacts: string[] = []
  for (const [index, company_id] of [...companies, null].entries()) {
    contacts.push(await create('/contacts', { name: 'C', email: `c${index}@customer.example`, company_id }))
  }
  return {
    address,
    companies,
    labels,
    contacts,
    /** Requests that failed, and refused mail. */
    failed: [] as string[],
    requests: 0,
    /** Words that a search must find, with the ticket; of mail the ticket is not known. */
    words: new Map<string, string | undefined>(),
    tickets: [] as string[],
    /** Message-ID of the first mail of each thread, with the number of mails. */
    threads: new Map<string, number>(),
    mails: 0,
  }
}

const anyOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!
const newWord = () => `w${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`

/** Uses a service until it is told to stop. */
export async function useService(service: Service, load: Load, stopped: AbortSignal): Promise<void> {
  const people = Array.from({ length: 3 }, async () => {
    while (!stopped.aborted) await actOnce(service, load)
  })
  await Promise.all([...people, sendMails(service, load, stopped)])
}

async function actOnce(service: Service, load: Load): Promise<void> {
  const call = async (method: string, path: string, body?: unknown) => {
    load.requests++
    const answer = await service.call(method, path, body).catch((error) => ({ status: 0, body: String(error) }))
    if (answer.status < 200 || answer.status > 299) {
      load.failed.push(`${method} ${path} ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return answer
  }
  const word = newWord()
  const ticket_id = anyOf(load.tickets)
  switch (ticket_id ? Math.floor(Math.random() * 10) : 0) {
    case 0:
    case 1: {
      const labels = load.labels.filter(() => Math.random() < 0.5)
      const contact_id = anyOf(load.contacts)
      const ticket = { subject: `Ticket ${word}`, contact_id, label_ids: labels, description: `About ${newWord()}` }
      const { body } = await call('POST', '/tickets', ticket)
      if (!body?.data) return
      load.tickets.push(body.data.id)
      load.words.set(word, body.data.id)
      return
    }
    case 2:
    case 3: {
      const label_ids = load.labels.filter(() => Math.random() < 0.5)
      await call('PATCH', `/tickets/${ticket_id}`, { status: anyOf(STATUSES), label_ids })
      return
    }
    case 4: {
      const { status } = await call('POST', `/tickets/${ticket_id}/messages`, {
        body: `Note ${word}`,
        is_internal: true,
      })
      if (status === 201) load.words.set(word, ticket_id)
      return
    }
    case 5:
      await call('POST', `/tickets/${ticket_id}/time-entries`, { duration_minutes: 5, date: '2026-01-02', rate: 60 })
      return
    case 6:
      await call('PATCH', `/contacts/${anyOf(load.contacts)}`, { company_id: anyOf([...load.companies, null]) })
      return
    case 7:
      await call('GET', `/tickets?status=${anyOf(STATUSES)}&label_ids=${anyOf(load.labels)}`)
      return
    case 8:
      await call('GET', `/tickets?search=${anyOf([...load.words.keys(), 'ticket'])}`)
      return
    default:
      await call('GET', `/tickets/${ticket_id}/messages`)
  }
}

/** Sends new mail, and answers to mail that the same or another process has taken. */
async function sendMails(service: Service, load: Load, stopped: AbortSignal): Promise<void> {
  using session = await startSession(service.smtp_port)
  while (!stopped.aborted) {
    const word = newWord()
    const first = Math.random() < 0.5 ? anyOf([...load.threads.keys()]) : undefined
    const message_id = `<${word}@customer.example>`
    const mail = {
      from: 'carla@customer.example',
      to: load.address,
      subject: first ? 'Re: mail' : 'mail',
      text: `Mail ${word}`,
      messageId: message_id,
      ...(first && { inReplyTo: first, references: first }),
    }
    const raw = await buildMail(mail)
    const { code, response } = await sendInSession(session, { from: mail.from, to: load.address, raw })
    if (code !== 250) load.failed.push(`mail ${response}`)
    load.words.set(word, undefined)
    load.mails++
    const thread = first ?? message_id
    load.threads.set(thread, (load.threads.get(thread) ?? 0) + 1)
    await Bun.sleep(20)
  }
}
