/** The deeds on a contact besides editing it: merging, and for admins export and erasure. */
import { useState } from 'preact/hooks'
import type { ContactWithTickets } from '../../../desk/contacts/model'
import type { Erasure } from '../../../desk/privacy/model'
import { type Api, Refusal } from '../api'
import { download } from '../download'
import { onEvent } from '../events'
import { Doom, TypedDoom } from '../forms/doom'
import { EditForm } from '../forms/edit-form'
import type { Body, Find } from '../forms/spec'
import { NewTicket } from '../inbox/new-ticket'
import { go, hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { doLong } from '../work'
import { findContacts } from './find'

type Props = View & { contact: ContactWithTickets; reload: () => Promise<void> }

export function ContactActs(view: Props) {
  const { api, organization, contact } = view
  const { id, name } = contact
  const [open, setOpen] = useState<'write' | 'merge' | 'delete' | 'erase'>()
  const close = () => setOpen(undefined)
  const leave = () => go(hrefOf(api.organization_id, ['contacts']))
  return (
    <>
      <Button text={t('contact.write')} onClick={() => setOpen('write')} />
      <Button text={t('contact.merge')} onClick={() => setOpen('merge')} />
      {isAdmin(organization) && (
        <>
          <Action run={() => download(api, `/contacts/${id}/export`, `${name}.json`)}>{t('contact.export')}</Action>
          <Button text={t('contact.erase')} onClick={() => setOpen('erase')} />
        </>
      )}
      <Button text={t('act.delete')} onClick={() => setOpen('delete')} />
      {open === 'write' && <NewTicket {...view} email={contact.email} onClose={close} />}
      {open === 'merge' && <Merge {...view} onClose={close} />}
      {open === 'delete' && (
        <Doom
          title={t('doom.delete', { name })}
          answer={t('act.delete')}
          onClose={close}
          run={async () => {
            await api.delete(`/contacts/${id}`)
            tell(t('done.deleted', { name }))
            leave()
          }}
        >
          {t('contact.delete_means')}
        </Doom>
      )}
      {open === 'erase' && (
        <TypedDoom
          title={t('contact.erase_title', { name })}
          answer={t('contact.erase')}
          word={name}
          onClose={close}
          run={async () => {
            await doLong(t('contact.erasing', { name }), (far) => erase(view, far))
            leave()
          }}
        >
          {t('contact.erase_means')}
        </TypedDoom>
      )}
    </>
  )
}

/** Erases, and asks again until the contact is gone. Each ticket that is erased is told by an event. */
async function erase({ api, contact }: Props, tellFar: (far: { done: number; total: number }) => void): Promise<void> {
  const total = contact.total_tickets
  let done = 0
  const end = onEvent((told) => {
    if (told?.type === 'ticket.erased') tellFar({ done: ++done, total })
  })
  try {
    const erased = await askUntilErased(api, contact.id)
    tell(erased ? t('contact.erased', erased) : t('done.deleted', { name: contact.name }))
  } finally {
    end()
  }
}

/** @returns undefined when an earlier request did it */
async function askUntilErased(api: Api, id: string): Promise<Erasure | undefined> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await api.post<Erasure>(`/contacts/${id}/erase`, undefined, { is_long: true })).data
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (attempt > 0 && error.status === 404) return undefined
      if (error.status !== 503) throw error
    }
  }
}

/** Other contacts that are the same person are chosen one by one. */
function Merge({ api, contact, reload, onClose }: Props & { onClose: () => void }) {
  const { id, name } = contact
  const find: Find = async (words) => (await findContacts(api)(words)).filter(({ value }) => value !== id)
  const merge = async (body: Body) => {
    await api.post(`/contacts/${id}/merge`, body)
    onClose()
    tell(t('contact.merged', { name }))
    await reload()
  }
  return (
    <Dialog title={t('contact.merge_title', { name })} onClose={onClose}>
      <p>{t('contact.merge_means', { name })}</p>
      <EditForm
        specs={[{ kind: 'picks', name: 'source_ids', label: t('contact.merge_which'), find }]}
        submit={t('contact.merge_into', { name })}
        is_dangerous
        send={merge}
        onCancel={onClose}
      />
    </Dialog>
  )
}
