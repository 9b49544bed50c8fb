/** Mailboxes: where email comes in, and through which server it goes out. */
import { useState } from 'preact/hooks'
import type { Mailbox, MailboxTest } from '../../../mail/mailboxes/model'
import { useRows } from '../lists'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Dot } from '../ui/marks'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'

const SECURITIES = ['starttls', 'tls', 'none']

export function Mailboxes({ api }: View) {
  const list = useRows<Mailbox>(api, '/mailboxes')
  const [edited, setEdited] = useState<Mailbox | 'new'>()
  const test = async ({ id, address }: Mailbox) => {
    const { data } = await api.post<MailboxTest>(`/mailboxes/${id}/test`)
    tell(
      data.ok
        ? `The server of ${address} took the sign-in in ${data.response_time_ms} ms.`
        : `${address}: ${data.error}`,
    )
    await list.reload()
  }
  return (
    <>
      <Table
        adding={{ text: 'Add a mailbox', begin: () => setEdited('new') }}
        list={list}
        caption="Mailboxes"
        head={['Address', 'Name', 'Server', 'Status', 'Actions']}
        empty="There is no mailbox: no email comes in or goes out."
        row={(one) => (
          <>
            <td>{one.address}</td>
            <td>{one.name}</td>
            <td>{one.smtp ? `${one.smtp.host}:${one.smtp.port}` : 'only receives'}</td>
            <td>
              <Dot kind={one.active ? 'sent' : 'closed'}>
                {one.active ? (one.is_default ? 'default' : 'active') : 'off'}
              </Dot>
              {!one.sending.ok && (
                <Dot kind="failed">
                  cannot send, {one.sending.queued} waiting: {one.sending.error}
                </Dot>
              )}
            </td>
            <td class="buttons">
              <Action run={() => test(one)} disabled={!one.smtp} label={`Test ${one.address}`}>
                Test
              </Action>
              <Button text="Edit" label={`Edit ${one.address}`} onClick={() => setEdited(one)} />
            </td>
          </>
        )}
      />
      {edited && (
        <Edit
          api={api}
          mailbox={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={list.reload}
        />
      )}
    </>
  )
}

/** The body of the request. Without a host the mailbox only receives. Tokens stay unless a password is given. */
function bodyOf(form: FormData, { auth = null }: Partial<NonNullable<Mailbox['smtp']>>) {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  const smtp = text('host') && {
    host: text('host'),
    port: Number(text('port')),
    security: text('security'),
    username: text('username') || null,
    ...(text('password') ? { password: text('password') } : { auth }),
  }
  return {
    address: text('address'),
    name: text('name') || null,
    active: form.get('active') === 'on',
    smtp: smtp || null,
  }
}

export function Edit({
  api,
  mailbox,
  onClose,
  onSaved,
}: {
  api: View['api']
  mailbox: Mailbox | undefined
  onClose: () => void
  onSaved: () => Promise<void>
}) {
  const smtp = mailbox?.smtp
  const save = async (form: FormData) => {
    const body = bodyOf(form, smtp ?? {})
    if (mailbox) await api.patch(`/mailboxes/${mailbox.id}`, body)
    else await api.post('/mailboxes', body)
    onClose()
    tell('The mailbox is saved.')
    await onSaved()
  }
  return (
    <Dialog title={mailbox ? `Edit ${mailbox.address}` : 'Add a mailbox'} onClose={onClose}>
      <Form submit="Save" send={save} onCancel={onClose}>
        <Field label="Address" name="address" type="email" required value={mailbox?.address ?? ''} />
        <Field
          label="Name"
          name="name"
          maxLength={255}
          value={mailbox?.name ?? ''}
          hint="Stands before the address in From"
        />
        <h3>Server for outbound email</h3>
        <p class="hint">Without a server the mailbox only receives.</p>
        <Field label="Host" name="host" value={smtp?.host ?? ''} />
        <Field label="Port" name="port" type="number" min={1} max={65_535} value={smtp?.port ?? 587} />
        <label class="field">
          <span>Security</span>
          <select name="security">
            {SECURITIES.map((one) => (
              <option key={one} value={one} selected={one === (smtp?.security ?? 'starttls')}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <Field label="User" name="username" value={smtp?.username ?? ''} />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          hint={smtp ? 'Empty: stays as it is' : undefined}
        />
        <label class="check">
          <input type="checkbox" name="active" defaultChecked={mailbox?.active ?? true} /> active
        </label>
      </Form>
    </Dialog>
  )
}
