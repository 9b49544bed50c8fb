/** Merges the ticket that is open into another one, which its code names, and undoes that. */
import { useState } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { type Api, query } from '../api'
import { go, hrefOf } from '../route'
import { Action, Button, Dialog, Field, Form, tell } from '../ui'
import type { View } from '../view-types'

export function Merge({ api, route, ticket }: View & { ticket: Ticket }) {
  const [is_open, setOpen] = useState(false)
  const [target, setTarget] = useState<Ticket>()
  const close = () => {
    setOpen(false)
    setTarget(undefined)
  }
  const merge = async ({ id, code }: Ticket) => {
    await api.post<Ticket>(`/tickets/${id}/merge`, { source_ids: [ticket.id] })
    tell(`${ticket.code} is merged into ${code}.`)
    close()
    go(hrefOf(api.organization_id, ['tickets', id], route.query))
  }
  return (
    <>
      <Button text="Merge" label={`Merge ${ticket.code} into another ticket`} onClick={() => setOpen(true)} />
      {is_open && (
        <Dialog title={`Merge ${ticket.code}`} onClose={close}>
          {target ? (
            <>
              <p>
                {ticket.code} is closed. Its messages, drafts and time move to <strong>{target.code}</strong>, “
                {target.subject}” of {target.contact?.name ?? 'nobody'}, and so does what its people write from now on.
                They take part there and get its answers. You can undo this for 30 days.
              </p>
              <p class="buttons">
                <Action kind="main" run={() => merge(target)}>
                  Merge into {target.code}
                </Action>
                <Button text="Cancel" onClick={close} />
              </p>
            </>
          ) : (
            <Form
              submit="Go on"
              onCancel={close}
              send={async (form) => setTarget(await find(api, ticket, String(form.get('code'))))}
            >
              <Field label="Code of the other ticket" name="code" required maxLength={64} />
            </Form>
          )}
        </Dialog>
      )}
    </>
  )
}

/** Finds the ticket with a code. @throws the words for the person when there is none to merge into */
async function find(api: Api, ticket: Ticket, given: string): Promise<Ticket> {
  const code = given.trim().toUpperCase()
  if (code === ticket.code.toUpperCase()) throw 'This is the ticket itself.'
  const { data } = await api.get<Ticket[]>(`/tickets${query({ search: code })}`)
  const found = data.find((one) => one.code.toUpperCase() === code)
  if (!found) throw `There is no ticket ${code}.`
  if (found.merged_into) throw `${found.code} was itself merged into ${found.merged_into.code}.`
  return found
}

/** Says where a merged ticket went, and takes it back. */
export function Merged({ api, route, ticket, reload }: View & { ticket: Ticket; reload: () => Promise<void> }) {
  const { id, code } = ticket.merged_into!
  return (
    <div class="merged">
      <p>
        This ticket was merged into <a href={hrefOf(api.organization_id, ['tickets', id], route.query)}>{code}</a>: its
        messages and time are there.
      </p>
      <Action
        run={async () => {
          await api.post<Ticket>(`/tickets/${ticket.id}/unmerge`)
          tell(`${ticket.code} is a ticket of its own again.`)
          await reload()
        }}
      >
        Undo the merge
      </Action>
    </div>
  )
}
