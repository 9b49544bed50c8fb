/** API keys. A new one is shown once. */
import { useState } from 'preact/hooks'
import type { ApiKey, CreatedApiKey } from '../../../people/api-keys/model'
import { useRows } from '../lists'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { Dialog, Question } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'

const RESOURCES = `tickets messages contacts companies labels time_entries webhooks mailboxes inbound_messages users
  organization`.split(/\s+/)
const GRANTS = ['*:read', '*:write', ...RESOURCES.flatMap((one) => [`${one}:read`, `${one}:write`]), 'audit_log:read']

export function Keys({ api }: View) {
  const list = useRows<ApiKey>(api, '/api-keys')
  const [is_making, setMaking] = useState(false)
  const [made, setMade] = useState<CreatedApiKey>()
  const [doomed, setDoomed] = useState<ApiKey>()
  return (
    <>
      <Table
        adding={{ text: 'Make a key', begin: () => setMaking(true) }}
        list={list}
        caption="API keys"
        head={['Name', 'Begins with', 'May', 'Last used', 'Status', 'Actions']}
        empty="There is no key."
        row={(key) => <Row apiKey={key} onRevoke={() => setDoomed(key)} />}
      />
      {is_making && (
        <Making
          api={api}
          onClose={() => setMaking(false)}
          onMade={async (key) => {
            setMaking(false)
            setMade(key)
            await list.reload()
          }}
        />
      )}
      {made && <Shown made={made} onClose={() => setMade(undefined)} />}
      {doomed && (
        <Question
          title={`Revoke ${doomed.name}?`}
          answer="Revoke"
          onClose={() => setDoomed(undefined)}
          run={async () => {
            await api.delete(`/api-keys/${doomed.id}`)
            setDoomed(undefined)
            await list.reload()
          }}
        >
          Programs that use it are refused from now on. It cannot be undone.
        </Question>
      )}
    </>
  )
}

function Row({ apiKey: key, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  return (
    <>
      <td>{key.name}</td>
      <td>
        <code>{key.prefix}</code>
      </td>
      <td class="wide">{key.permissions.join(', ')}</td>
      <td>{key.last_used_at ? <Time at={key.last_used_at} /> : 'never'}</td>
      <td>
        <Dot kind={key.revoked_at ? 'closed' : 'sent'}>{key.revoked_at ? 'revoked' : 'active'}</Dot>
      </td>
      <td>{!key.revoked_at && <Button text="Revoke" label={`Revoke ${key.name}`} onClick={onRevoke} />}</td>
    </>
  )
}

function Making({
  api,
  onClose,
  onMade,
}: {
  api: View['api']
  onClose: () => void
  onMade: (key: CreatedApiKey) => Promise<void>
}) {
  const send = async (form: FormData) => {
    const networks = String(form.get('networks'))
      .split(/[\s,]+/)
      .filter(Boolean)
    const { data } = await api.post<CreatedApiKey>('/api-keys', {
      name: form.get('name'),
      permissions: form.getAll('permissions'),
      allowed_networks: networks,
    })
    await onMade(data)
  }
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <Form submit="Make it" send={send} onCancel={onClose}>
        <Field label="Name" name="name" required maxLength={255} hint="The program that uses it" />
        <Field label="Networks" name="networks" hint="Such as 203.0.113.0/24. Empty: from everywhere" />
        <fieldset class="checks">
          <legend>It may</legend>
          {GRANTS.map((grant) => (
            <label key={grant} class="check">
              <input type="checkbox" name="permissions" value={grant} defaultChecked={grant === '*:read'} /> {grant}
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}

function Shown({ made, onClose }: { made: CreatedApiKey; onClose: () => void }) {
  return (
    <Dialog title={`The key of ${made.name}`} onClose={onClose}>
      <p>Copy it now: it is not shown again.</p>
      <p>
        <code class="secret">{made.key}</code>
      </p>
      <p class="buttons">
        <Action
          kind="main"
          run={async () => {
            await navigator.clipboard.writeText(made.key)
            tell('The key is copied.')
          }}
        >
          Copy
        </Action>
        <Button text="Close" onClick={onClose} />
      </p>
    </Dialog>
  )
}
