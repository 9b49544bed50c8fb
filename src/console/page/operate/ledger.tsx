/** The mail ledger: every email that was taken, and what became of it. */
import { useState } from 'preact/hooks'
import type { InboundMessage } from '../../../mail/inbound-messages/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import { useRows } from '../lists'
import { useLive } from '../live'
import { changed, go, hrefOf } from '../route'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Choice, Form } from '../ui/form-fields'
import { Dot } from '../ui/marks'
import { bytes, Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'

const OUTCOMES = ['pending', 'ticket', 'message', 'bounce', 'duplicate', 'own', 'unmatched_bounce', 'unparsed', 'spam']
const DOT: Record<string, string> = {
  ticket: 'open',
  message: 'sent',
  pending: 'queued',
  unparsed: 'failed',
  bounce: 'bounced',
}

export function Ledger(view: View) {
  const { api, route } = view
  const outcome = route.query.get('outcome') ?? ''
  const list = useRows<InboundMessage>(api, '/inbound-messages', outcome ? { outcome } : {})
  const [is_trying, setTrying] = useState(false)
  return (
    <>
      <p class="line">
        <Choice
          label="Outcome"
          value={outcome}
          options={[{ value: '', text: 'All' }, ...OUTCOMES.map((value) => ({ value, text: value.replace('_', ' ') }))]}
          onChoose={(outcome) => go(hrefOf(api.organization_id, route.path, changed(route.query, { outcome })))}
        />
        <span class="grow" />
        <Button text="What would become of a message?" onClick={() => setTrying(true)} />
      </p>
      <Table
        list={list}
        caption="Inbound email"
        head={['Received', 'From', 'Subject', 'Outcome', 'Rule', 'Sender', 'Size', 'Original']}
        empty="No email has come in."
        row={(one) => <Row {...view} one={one} />}
      />
      {is_trying && <Trial {...view} onClose={() => setTrying(false)} onImported={list.reload} />}
    </>
  )
}

function Row({ api, one }: View & { one: InboundMessage }) {
  const { id, received_at, from, subject, outcome, rule, ticket_id, size, sender_verified, mailbox } = one
  const words = outcome.replace('_', ' ')
  const download = async () => {
    const blob = await api.download(`/inbound-messages/${id}/raw`)
    save(blob, `${id}.eml`)
  }
  return (
    <>
      <td>
        <Time at={received_at} />
      </td>
      <td>
        {from?.name || from?.email || 'not known yet'}
        {from?.name && <small>{from.email}</small>}
      </td>
      <td class="wide">
        {subject ?? ''}
        <small>to {mailbox?.address}</small>
      </td>
      <td>
        <Dot kind={DOT[outcome] ?? 'closed'}>
          {ticket_id ? <a href={hrefOf(api.organization_id, ['tickets', ticket_id])}>{words}</a> : words}
        </Dot>
      </td>
      <td>{rule?.replaceAll('_', ' ')}</td>
      <td>{sender_verified === null ? 'cannot tell' : sender_verified ? 'verified' : 'forged'}</td>
      <td>{bytes(size)}</td>
      <td>
        <Action run={download} label={`Download the original of ${subject ?? 'the message'}`}>
          Download
        </Action>
      </td>
    </>
  )
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Puts an original through the pipeline without storing it, and on demand for good. */
function Trial({ api, onClose, onImported }: View & { onClose: () => void; onImported: () => Promise<void> }) {
  const mailboxes = useLive<Mailbox[]>(
    `mailboxes ${api.organization_id}`,
    async (_before, signal) => (await api.get<Mailbox[]>('/mailboxes?per_page=100', { signal })).data,
  )
  const [result, setResult] = useState<InboundMessage>()
  const send = (is_dry: boolean) => async (form: FormData) => {
    const file = form.get('file') as File
    const text = String(form.get('text'))
    const content = file.size > 0 ? await file.arrayBuffer() : text.replace(/\r?\n/g, '\r\n')
    const path = `/inbound-messages?mailbox_id=${form.get('mailbox_id')}&dry_run=${is_dry}`
    const { data } = await api.post<InboundMessage>(path, undefined, { raw: { type: 'message/rfc822', content } })
    setResult(data)
    if (is_dry) return
    tell(`The message is filed: ${data.outcome}.`)
    await onImported()
    onClose()
  }
  const [is_dry, setDry] = useState(true)
  return (
    <Dialog title="What would become of a message?" onClose={onClose}>
      <Form submit={is_dry ? 'Try it' : 'File it'} send={(form) => send(is_dry)(form)} onCancel={onClose}>
        <label class="field">
          <span>Mailbox</span>
          <select name="mailbox_id" required>
            {(mailboxes.value ?? []).map(({ id, address }) => (
              <option key={id} value={id}>
                {address}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Original as a file</span>
          <input type="file" name="file" accept=".eml,message/rfc822" />
        </label>
        <label class="field">
          <span>or as text</span>
          <textarea
            name="text"
            rows={6}
            placeholder={'From: carla@customer.example\nSubject: The printer is on fire\n\nHelp!'}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={!is_dry} onChange={() => setDry(!is_dry)} /> file it for good
        </label>
      </Form>
      {result && (
        <p role="status">
          It would {result.outcome === 'ticket' ? 'open a ticket' : `have the outcome ${result.outcome}`} by the rule{' '}
          {result.rule ?? 'none'}. Its sender would be {result.from?.email ?? 'nobody'}.
        </p>
      )}
    </Dialog>
  )
}
