/** Views that people save: how one is made and removed. */
import { Plus } from 'lucide'
import { useState } from 'preact/hooks'
import type { View as SavedView } from '../../../desk/views/model'
import { useActs } from '../acts'
import { readNames } from '../names'
import { go, hrefOf } from '../route'
import { Button } from '../ui/buttons'
import { Dialog, Question } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Popover } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { useOrder } from './list-order'
import { filterOf } from './saved-filters'

/** Saves what the list shows now under a name. */
export function SaveView({ api, me, route }: View) {
  const [order] = useOrder(me.id)
  const [is_open, setOpen] = useState(false)
  const save = async (form: FormData) => {
    const { sort = order, search, view_id, ...filter } = Object.fromEntries(route.query)
    const [labels, users, mailboxes, teams, views] = await Promise.all([
      search ? readNames(api, 'labels') : [],
      search ? readNames(api, 'users') : [],
      search ? readNames(api, 'mailboxes') : [],
      search ? readNames(api, 'teams') : [],
      readNames(api, 'views'),
    ])
    const base = views.find(({ id }) => id === view_id)?.filter
    const { data } = await api.post<SavedView>('/views', {
      name: form.get('name'),
      shared: form.get('shared') === 'on',
      filter: {
        ...base,
        ...filter,
        ...(search && (await filterOf(api, [search], { labels, users, mailboxes, teams }))),
      },
      sort,
    })
    setOpen(false)
    go(hrefOf(api.organization_id, ['tickets'], new URLSearchParams({ view_id: data.id })))
  }
  useActs([{ text: t('inbox.save_view'), icon: Plus, run: () => setOpen(true) }], t('frame.group_list'))
  return (
    <>
      <Button kind="bare" icon={Plus} text={t('inbox.save_view')} onClick={() => setOpen(true)} />
      {is_open && (
        <Dialog title={t('inbox.save_view')} onClose={() => setOpen(false)}>
          <p class="hint">{t('inbox.save_view_hint')}</p>
          <Form submit={t('inbox.save')} onCancel={() => setOpen(false)} send={save}>
            <Field label={t('inbox.name')} name="name" required maxLength={255} />
            <label class="check">
              <input type="checkbox" name="shared" /> {t('inbox.shared')}
            </label>
          </Form>
        </Dialog>
      )}
    </>
  )
}

/** Removes a view, after a question. */
export function Remove({ api, saved }: View & { saved: SavedView }) {
  const [is_asking, setAsking] = useState(false)
  return (
    <>
      <Popover label={t('inbox.about_view', { view: saved.name })} button="⋯">
        {(close) => (
          <button
            type="button"
            class="item"
            onClick={() => {
              close()
              setAsking(true)
            }}
          >
            {t('inbox.remove_view')}
          </button>
        )}
      </Popover>
      {is_asking && (
        <Question
          title={t('inbox.remove_view')}
          answer={t('inbox.remove_view')}
          onClose={() => setAsking(false)}
          run={async () => {
            await api.delete(`/views/${saved.id}`)
            setAsking(false)
            tell(t('inbox.view_removed'))
          }}
        >
          {t('inbox.remove_view_question', { view: saved.name })}
        </Question>
      )}
    </>
  )
}
