/** Views of the inbox: those that everybody has, and those that were saved, with counts. */
import {
  Bookmark,
  ChevronDown,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleUser,
  type IconNode,
  Inbox,
  Plus,
  UserX,
} from 'lucide'
import { useEffect, useState } from 'preact/hooks'
import type { TicketListMeta } from '../../../desk/tickets/model'
import type { View as SavedView } from '../../../desk/views/model'
import { useActs } from '../acts'
import { query } from '../api'
import { readNowAndThen } from '../live'
import { go, hrefOf } from '../route'
import { Button } from '../ui/buttons'
import { Dialog, Question } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Icon } from '../ui/icons'
import { number } from '../ui/measures'
import { Menu, Popover } from '../ui/menus'
import { tell } from '../ui/toasts'
import type { Names, View } from '../view-types'
import { t } from '../words/catalogue'
import { filterOf } from './saved-filters'

/** A count is a request, and each person has a limit of requests: so these have one, and the first saved views. */
const COUNTED = ['mine', 'unassigned', 'open']
const MOST_COUNTS = 6
const LEAST_MS = 15_000
const IDLE_MS = 300_000

/** A view of the list: its name, and its part of the address. */
type ListView = { id: string; text: string; icon: IconNode; filter: Record<string, string>; saved?: SavedView }

/** All views that the person can choose. */
function viewsOf({ views }: Names): ListView[] {
  const standard: ListView[] = [
    { id: 'mine', text: t('inbox.mine'), icon: CircleUser, filter: { status: 'open', assignee_id: 'me' } },
    { id: 'unassigned', text: t('inbox.unassigned'), icon: UserX, filter: { status: 'open', assignee_id: 'none' } },
    { id: 'open', text: t('inbox.open'), icon: CircleDot, filter: { status: 'open' } },
    { id: 'pending', text: t('inbox.pending'), icon: CircleDashed, filter: { status: 'pending' } },
    { id: 'resolved', text: t('inbox.resolved'), icon: CircleCheck, filter: { status: 'resolved' } },
    { id: 'all', text: t('inbox.all'), icon: Inbox, filter: {} },
  ]
  const saved = views.map((saved) => ({
    id: saved.id,
    text: saved.name,
    icon: Bookmark,
    filter: { view_id: saved.id },
    saved,
  }))
  return [...standard, ...saved]
}

/** The view that the address shows; undefined when the filters are those of no view. */
function viewHere(views: ListView[], { route }: View): ListView | undefined {
  const given = [...route.query].filter(([name]) => name !== 'sort')
  return views.find(
    ({ filter }) =>
      given.length === Object.keys(filter).length && given.every(([name, value]) => filter[name] === value),
  )
}

/** How many tickets each view has. */
function useCounts({ api }: View, views: ListView[]): Record<string, string> {
  const [counts, setCounts] = useState<Record<string, string>>({})
  const counted = views.filter(({ id, saved }) => saved || COUNTED.includes(id)).slice(0, MOST_COUNTS)
  useEffect(() => {
    const read = async () => {
      if (document.hidden) return
      const all = counted.map(async ({ id, filter }) => {
        const { meta } = await api.get<unknown, TicketListMeta>(`/tickets${query({ ...filter, per_page: 1 })}`)
        return [id, countOf(meta)] as const
      })
      const done = await Promise.all(all).catch(() => undefined)
      if (done) setCounts(Object.fromEntries(done))
    }
    return readNowAndThen(read, LEAST_MS, IDLE_MS)
  }, [api, counted.map(({ id }) => id).join()])
  return counts
}

/** A total in words, which says when there may be more. */
export function countOf({ total = 0, total_is_exact }: TicketListMeta): string {
  return total_is_exact === false ? `${number(total)}+` : number(total)
}

type Props = View & { names: Names }

/** The views as a column, where there is room for one. */
export function ViewColumn(props: Props) {
  const views = viewsOf(props.names)
  const counts = useCounts(props, views)
  const here = viewHere(views, props)
  useActs(
    views
      .slice(0, 9)
      .map(({ text, icon, filter }, place) => ({
        text: t('inbox.go_to', { view: text }),
        icon,
        keys: `g ${place + 1}`,
        run: () => go(hrefOf(props.api.organization_id, ['tickets'], new URLSearchParams(filter))),
      })),
  )
  return (
    <nav class="views" aria-label={t('inbox.views')}>
      <ul>
        {views.map((view, place) => (
          <li key={view.id} class={place === 6 ? 'begins-group' : ''}>
            <a
              href={hrefOf(props.api.organization_id, ['tickets'], new URLSearchParams(view.filter))}
              aria-current={here?.id === view.id ? 'page' : undefined}
            >
              <Icon of={view.icon} />
              <span class="cut" dir="auto">
                {view.text}
              </span>
              <span class="grow" />
              <span class="count">{counts[view.id]}</span>
            </a>
            {view.saved && <Remove {...props} saved={view.saved} />}
          </li>
        ))}
      </ul>
      <SaveView {...props} />
    </nav>
  )
}

/** The name of the view, with the others as a menu where there is no room for a column. */
export function ViewMenu(props: Props) {
  const views = viewsOf(props.names)
  const here = viewHere(views, props)
  return (
    <span class="view-name">
      <strong class="cut" dir="auto">
        {here?.text ?? t('inbox.found')}
      </strong>
      <Menu
        label={t('inbox.views')}
        button={<Icon of={ChevronDown} />}
        items={views.map(({ id, text, icon, filter }) => ({
          text,
          icon,
          is_chosen: id === here?.id,
          run: () => go(hrefOf(props.api.organization_id, ['tickets'], new URLSearchParams(filter))),
        }))}
      />
    </span>
  )
}

/** Saves what the list shows now under a name. */
function SaveView({ api, route, names }: Props) {
  const [is_open, setOpen] = useState(false)
  const save = async (form: FormData) => {
    const { sort, search, view_id, ...filter } = Object.fromEntries(route.query)
    const base = names.views.find(({ id }) => id === view_id)?.filter
    const { data } = await api.post<SavedView>('/views', {
      name: form.get('name'),
      shared: form.get('shared') === 'on',
      filter: { ...base, ...filter, ...(search && (await filterOf(api, [search], names))) },
      ...(sort && { sort }),
    })
    setOpen(false)
    await names.reload()
    go(hrefOf(api.organization_id, ['tickets'], new URLSearchParams({ view_id: data.id })))
  }
  useActs([{ text: t('inbox.save_view'), icon: Plus, run: () => setOpen(true) }])
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

function Remove({ api, names, saved }: Props & { saved: SavedView }) {
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
            await names.reload()
          }}
        >
          {t('inbox.remove_view_question', { view: saved.name })}
        </Question>
      )}
    </>
  )
}
