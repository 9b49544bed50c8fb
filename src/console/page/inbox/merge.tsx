/** Merges the ticket that is open into another one, which its code names, and undoes that. */
import { useState } from 'preact/hooks'
import type { Ticket } from '../../../desk/tickets/model'
import { type Api, query } from '../api'
import { useLive } from '../live'
import { go, hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { StatusMark } from '../ui/marks'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { rich, t } from '../words/catalogue'

/** So many tickets of the contact are proposed. */
const MOST_LIKELY = 5
const SELDOM_MS = 60_000

type MergeProps = View & { ticket: Ticket; onClose: () => void }

export function Merge({ api, route, ticket, onClose }: MergeProps) {
  const [target, setTarget] = useState<Ticket>()
  const merge = async ({ id, code }: Ticket) => {
    await api.post<Ticket>(`/tickets/${id}/merge`, { source_ids: [ticket.id] })
    tell(t('merge.merged', { source: ticket.code, target: code }))
    onClose()
    go(hrefOf(api.organization_id, ['tickets', id], route.query))
  }
  return (
    <Dialog title={t('merge.into', { ticket: ticket.code })} onClose={onClose}>
      {target ? (
        <>
          <p>
            {t('merge.means', {
              source: ticket.code,
              target: target.code,
              subject: target.subject,
              contact: target.contact?.name ?? t('ticket.nobody'),
            })}
          </p>
          <p class="buttons">
            <Action kind="main" run={() => merge(target)}>
              {t('merge.into_code', { target: target.code })}
            </Action>
            <Button text={t('ui.cancel')} onClick={onClose} />
          </p>
        </>
      ) : (
        <Form
          submit={t('merge.go_on')}
          onCancel={onClose}
          send={async (form) => setTarget(await find(api, ticket, String(form.get('code'))))}
        >
          <Field label={t('merge.code')} name="code" required maxLength={64} />
        </Form>
      )}
      {!target && <Likely api={api} ticket={ticket} onChoose={setTarget} />}
    </Dialog>
  )
}

type LikelyProps = { api: Api; ticket: Ticket; onChoose: (target: Ticket) => void }

/** The other tickets of the contact: what belongs together was mostly written by one person. */
function Likely({ api, ticket, onChoose }: LikelyProps) {
  const contact_id = ticket.contact?.id
  const { value: found = [] } = useLive<Ticket[]>(
    `to merge into ${ticket.id}`,
    async (_before, signal) => {
      if (!contact_id) return []
      const list = `/tickets${query({ contact_id, merged: false, per_page: MOST_LIKELY + 1 })}`
      return (await api.get<Ticket[]>(list, { signal })).data
    },
    SELDOM_MS,
  )
  const others = found.filter(({ id }) => id !== ticket.id).slice(0, MOST_LIKELY)
  if (others.length === 0) return null
  return (
    <section class="likely">
      <h3>{t('customer.others')}</h3>
      {others.map((one) => (
        <button key={one.id} type="button" class="item" onClick={() => onChoose(one)}>
          <StatusMark status={one.status} />
          <span class="code">{one.code}</span>
          <span class="cut" dir="auto">
            {one.subject}
          </span>
        </button>
      ))}
    </section>
  )
}

/** Finds the ticket with a code. @throws the words for the person when there is none to merge into */
async function find(api: Api, ticket: Ticket, given: string): Promise<Ticket> {
  const code = given.trim().toUpperCase()
  if (code === ticket.code.toUpperCase()) throw t('merge.itself')
  const { data } = await api.get<Ticket[]>(`/tickets${query({ search: code })}`)
  const found = data.find((one) => one.code.toUpperCase() === code)
  if (!found) throw t('merge.none', { ticket: code })
  if (found.merged_into) throw t('merge.merged_itself', { ticket: found.code, target: found.merged_into.code })
  return found
}

/** Says where a merged ticket went, and takes it back. */
export function Merged({ api, route, ticket, reload }: View & { ticket: Ticket; reload: () => Promise<void> }) {
  const { id, code } = ticket.merged_into!
  return (
    <div class="merged">
      <p>
        {rich('merge.went', { target: <a href={hrefOf(api.organization_id, ['tickets', id], route.query)}>{code}</a> })}
      </p>
      <Action
        run={async () => {
          await api.post<Ticket>(`/tickets/${ticket.id}/unmerge`)
          tell(t('merge.undone', { ticket: ticket.code }))
          await reload()
        }}
      >
        {t('merge.undo')}
      </Action>
    </div>
  )
}
