/** A list tells of a message that an event brings what the service tells of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { turnAfter } from '../../src/console/page/inbox/last-message'
import type { Ticket } from '../../src/desk/tickets/model'
import { NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../support/desk'
import { createContact, createTicket, hearEvents, uploadFile, writtenEvents } from '../support/factories'
import { importMail, rawMail } from '../support/mail'

let desk: StartedDesk
beforeAll(async () => {
  desk = await startDesk({ smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

const HTML = [
  '<p>Have you <b>tried</b> &lt;water&gt;?</p><p>It is &amp; was <i>good</i>.<br>Bye</p>',
  '<p>Do:</p><ul><li><p>one</p></li><li><p>two</p><ul><li><p>deep</p></li></ul></li></ul><p>Then</p>',
  '<ol><li>first</li><li>second</li></ol><p>and</p><ol start="4"><li>fourth</li></ol>',
  '<blockquote><p>She said</p><p>this</p></blockquote><p>I do not.</p>',
  '<blockquote><p>outer</p><blockquote><p>inner</p></blockquote></blockquote>',
  '<p>See <a href="https://desk.example/help">the help</a>, or <a href="https://desk.example">desk.example</a></p>',
  '<p>Write to <a href="mailto:carla@c.example?subject=x">Carla</a></p><hr><p>Alan</p>',
  '<p>A picture: <img src="data:image/png;base64,AAAA" alt="a giraffe"> here</p>',
  '<pre><code>let a = 1\n\nlet b = 2</code></pre><p>end</p>',
  '<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></tbody></table>',
  `<p>${'<b>x</b>&amp;'.repeat(2000)}</p>`,
  `<p>${'🦒 '.repeat(300)}</p>`,
]

test('the excerpt of each kind of HTML, and whose turn it is, are those of the service', async () => {
  const { admin, agent, address, mailbox_id, scope } = await desk.createDesk()
  await hearEvents(scope)
  const contact = await createContact(agent)
  const { id } = await createTicket(agent, { contact_id: contact.id, description: 'Help' })
  const read = async (): Promise<Ticket> => {
    const { body } = await agent.get('/tickets?per_page=100')
    return body.data.find((one: { id: string }) => one.id === id)
  }
  const file = await uploadFile(agent)
  const { code } = await read()
  const mail = (text: string, fields = {}) => {
    const from = { From: contact.email, To: address, Subject: `Re: [${code}]` }
    return importMail(admin, mailbox_id, rawMail({ ...from, ...fields }, text))
  }
  const write = (message: object) => () => agent.post(`/tickets/${id}/messages`, message)
  const acts: (() => Promise<unknown>)[] = [
    ...HTML.map((body) => write({ body, format: 'html' })),
    write({ body: 'Plain  text\n\nin two lines <b>' }),
    write({ body: 'With a file', attachment_ids: [file.id] }),
    write({ body: 'A note', is_internal: true }),
    () => mail('It is\n\nout'),
    () => mail('Still out'),
    () => mail('I am away', { 'Auto-Submitted': 'auto-replied' }),
    () => mail('Thanks!\n\nOn Monday Alan wrote:\n> Have you tried water?'),
  ]
  let before = await read()
  for (const act of acts) {
    const told = (await writtenEvents(scope)).length
    await act()
    const events = (await writtenEvents(scope)).slice(told)
    const { data } = events.find(({ event }) => event === 'message.created')!
    const now = await read()
    const expected = turnAfter(before, data, data.sender.email === agent.email)
    expect({ ...before, ...expected }).toMatchObject(turnOf(now))
    before = now
  }
  expect(before.message_count).toBe(1 + acts.length - 1)
})

function turnOf({ last_message, waiting_since, message_count, attachment_count, draft_count }: Ticket) {
  return { last_message, waiting_since, message_count, attachment_count, draft_count }
}
