/** The views of the inbox: as a column, and as a menu where there is no room for one. */
import { ChevronDown } from 'lucide'
import { useActs } from '../acts'
import { go, hrefOf } from '../route'
import { Icon } from '../ui/icons'
import { Menu } from '../ui/menus'
import { t } from '../words/catalogue'
import { useCounts, viewHere, viewsOf } from './list-views'
import { Remove, SaveView, type ViewsProps } from './saved-views'

/** The views as a column, where there is room for one. */
export function ViewColumn(props: ViewsProps) {
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
export function ViewMenu(props: ViewsProps) {
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
