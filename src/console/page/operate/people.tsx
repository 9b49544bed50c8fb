/** Members of the organization, and invitations. */
import { useState } from 'preact/hooks'
import type { User } from '../../../people/users/model'
import { useRows } from '../lists'
import { Table } from '../rows'
import { Action } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Dot } from '../ui/marks'
import { tell } from '../ui/toasts'
import { isAdmin, type View } from '../view-types'

const DOT = { active: 'sent', invited: 'queued', inactive: 'closed' }

export function People({ api, me }: View) {
  const list = useRows<User>(api, '/users')
  const [is_inviting, setInviting] = useState(false)
  return (
    <>
      <Table
        adding={{ text: 'Invite somebody', begin: () => setInviting(true) }}
        list={list}
        caption="People"
        head={['Name', 'Email', 'Role', 'Status', 'Actions']}
        empty="Nobody is here."
        row={(user) => <Row user={user} is_me={user.id === me.id} api={api} reload={list.reload} />}
      />
      {is_inviting && <Invite api={api} onClose={() => setInviting(false)} reload={list.reload} />}
    </>
  )
}

type Props = { api: View['api']; reload: () => Promise<void> }

function Row({ user, is_me, api, reload }: Props & { user: User; is_me: boolean }) {
  const { id, name, email, role, status, active } = user
  const next_role = isAdmin(user) ? 'agent' : 'admin'
  const set = async (changes: { role?: string; active?: boolean }) => {
    await api.patch(`/users/${id}`, changes)
    await reload()
  }
  const inviteAgain = async () => {
    await api.post(`/users/${id}/invite`)
    tell(`${email} is invited again.`)
  }
  return (
    <>
      <td>{name}</td>
      <td>{email}</td>
      <td>{role}</td>
      <td>
        <Dot kind={DOT[status]}>{status}</Dot>
      </td>
      <td class="buttons">
        {status === 'invited' && (
          <Action label={`Invite again: ${email}`} run={inviteAgain}>
            Invite again
          </Action>
        )}
        {!is_me && status !== 'invited' && (
          <>
            <Action label={`Make an ${next_role}: ${email}`} run={() => set({ role: next_role })}>
              Make an {next_role}
            </Action>
            <Action label={`${active ? 'Switch off' : 'Switch on'} ${email}`} run={() => set({ active: !active })}>
              {active ? 'Switch off' : 'Switch on'}
            </Action>
          </>
        )}
      </td>
    </>
  )
}

function Invite({ api, reload, onClose }: Props & { onClose: () => void }) {
  const send = async (form: FormData) => {
    await api.post('/users', { email: form.get('email'), name: form.get('name'), role: form.get('role') })
    onClose()
    tell('The invitation is on its way.')
    await reload()
  }
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form submit="Invite" onCancel={onClose} send={send}>
        <Field label="Email" name="email" type="email" required />
        <Field label="Name" name="name" required maxLength={255} />
        <label class="field">
          <span>Role</span>
          <select name="role">
            <option value="agent">agent</option>
            <option value="admin">admin</option>
          </select>
        </label>
      </Form>
    </Dialog>
  )
}
