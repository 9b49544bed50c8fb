/** The views of the inbox: as a column, and as a menu where there is no room for one. */
import { ChevronDown } from 'lucide'
import { useState } from 'preact/hooks'
import { useActs } from '../acts'
import { useNames } from '../names'
import { go, hrefOf } from '../route'
import { Icon } from '../ui/icons'
import { Menu } from '../ui/menus'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { isCountKept } from './list-order'
import { countOf, type ListView, viewHere, viewsOf } from './list-views'
import { Remove, SaveView } from './saved-views'
import { useTotal } from './use-tickets'

/**
 * The views that a person can choose: those of everybody, those that were saved, and those of the own teams. Teams are
 * read when somebody comes near, not at each sign-in.
 */
function useViews({ api, me, route }: View) {
  const [is_near, setNear] = useState(false)
  const comeNear = () => setNear(true)
  const known = useNames(api, 'teams', is_near || route.query.has('team_id'))
  const teams = known?.filter(({ member_ids }) => member_ids.includes(me.id))
  return { views: viewsOf(useNames(api, 'views'), teams), near: { onPointerEnter: comeNear, onFocusIn: comeNear } }
}

/** The views as a column, where there is room for one. */
export function ViewColumn(props: View) {
  const { views, near } = useViews(props)
  const here = viewHere(views, props)
  useActs(
    views.map(({ text, icon, filter }, place) => ({
      text: t('inbox.go_to', { view: text }),
      icon,
      ...(place < 9 && { keys: `g ${place + 1}` }),
      run: () => go(hrefOf(props.api.organization_id, ['tickets'], new URLSearchParams(filter))),
    })),
    t('frame.group_go'),
  )
  return (
    <nav class="views" aria-label={t('inbox.views')} {...near}>
      <ul>
        {views.map((view, place) => (
          <li key={view.id} class={view.saved && !views[place - 1]!.saved ? 'begins-group' : ''}>
            <a
              href={hrefOf(props.api.organization_id, ['tickets'], new URLSearchParams(view.filter))}
              aria-current={here?.id === view.id ? 'page' : undefined}
            >
              <Icon of={view.icon} />
              <span class="cut" dir="auto">
                {view.text}
              </span>
              <span class="grow" />
              <Count {...props} view={view} is_here={here?.id === view.id} />
            </a>
            {view.saved && <Remove {...props} saved={view.saved} />}
          </li>
        ))}
      </ul>
      <SaveView {...props} />
    </nav>
  )
}

function Count({ view, is_here, ...props }: View & { view: ListView; is_here: boolean }) {
  const total = useTotal(props, view, is_here)
  return (
    <span class="count">{total && (is_here || isCountKept(view.saved?.filter ?? view.filter)) && countOf(total)}</span>
  )
}

/** The name of the view, with the others as a menu where there is no room for a column. */
export function ViewMenu(props: View) {
  const { views, near } = useViews(props)
  const here = viewHere(views, props)
  return (
    <span class="view-name" {...near}>
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
