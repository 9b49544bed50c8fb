/** Settings: what each person may change, and for admins all that the organization runs on. */
import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { hrefOf } from '../route'
import { FirstSteps } from '../start/way-to-mail'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { AccountSettings } from './account-settings'
import { AuditLog } from './audited'
import { Domains } from './domain-list'
import { FactorSettings } from './factor-settings'
import { Imports } from './imports'
import { Inbound } from './inbound'
import { Keys } from './keys'
import { LabelSettings } from './label-settings'
import { MacroSettings } from './macro-settings'
import { Mailboxes } from './mailboxes'
import { NotifySettings } from './notify-settings'
import { OrganizationSettings } from './organization'
import { Outbound } from './outbound-list'
import { type PageName, pageGroupsFor } from './page-names'
import { People } from './people'
import { PolicySettings } from './policy-settings'
import { SignInSettings } from './provider'
import { RetentionSettings } from './retention-settings'
import { RuleSettings } from './rule-settings'
import { ScheduleSettings } from './schedule-settings'
import { SenderRules } from './sender-rules'
import { Sessions } from './session-list'
import { TeamSettings } from './team-settings'
import { ViewSettings } from './view-settings'
import { Webhooks } from './webhooks'

const PAGES: Record<PageName, ComponentType<View>> = {
  account: AccountSettings,
  notify: NotifySettings,
  factor: FactorSettings,
  sessions: Sessions,
  labels: LabelSettings,
  macros: MacroSettings,
  views: ViewSettings,
  mailboxes: Mailboxes,
  domains: Domains,
  inbound: Inbound,
  outbound: Outbound,
  senders: SenderRules,
  start: FirstSteps,
  organization: OrganizationSettings,
  people: People,
  teams: TeamSettings,
  schedules: ScheduleSettings,
  policies: PolicySettings,
  rules: RuleSettings,
  signin: SignInSettings,
  keys: Keys,
  webhooks: Webhooks,
  retention: RetentionSettings,
  imports: Imports,
  audit: AuditLog,
}

export function Settings(view: View) {
  const { api, route, organization } = view
  const groups = pageGroupsFor(isAdmin(organization))
  const names: PageName[] = groups.flatMap(({ pages }) => [...pages])
  const named = names.find((name) => name === route.path[1])
  const name = named ?? names[0]!
  const Page = PAGES[name]
  const is_unknown = route.path[1] !== undefined && !named
  const nav = useRef<HTMLElement>(null)
  // On a phone the links are one line, which is scrolled.
  useLayoutEffect(
    () => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [name],
  )
  return (
    <div class="settings">
      <nav class="settings-nav" aria-label={t('settings.title')} ref={nav}>
        {groups.map((group) => (
          <div key={group.name}>
            <h2>{t(`settings.group_${group.name}`)}</h2>
            {group.pages.map((one) => (
              <a
                key={one}
                href={hrefOf(api.organization_id, ['settings', one])}
                aria-current={one === name && !is_unknown ? 'page' : undefined}
              >
                {t(`settings.${one}`)}
              </a>
            ))}
          </div>
        ))}
      </nav>
      <section class="page" aria-label={is_unknown ? t('settings.title') : t(`settings.${name}`)}>
        {is_unknown ? (
          <p class="empty">{t('settings.not_yours')}</p>
        ) : (
          <>
            <h1>{t(`settings.${name}`)}</h1>
            <Page {...view} />
          </>
        )}
      </section>
    </div>
  )
}
