/** The frame around the views: the rail with the sections, and what belongs to the person. */
import { LogOut, SquarePen, UserRound } from 'lucide'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useActs } from './acts'
import { Api, trouble } from './api'
import { useAvailable } from './available'
import { useCell } from './cell'
import { follow } from './events'
import { sendAll } from './inbox/held-back'
import { NewTicket } from './inbox/new-ticket-later'
import { saveWritings } from './inbox/writings'
import { Palette } from './palette'
import { go, hrefOf, useRoute } from './route'
import { SECTIONS, type Section } from './sections'
import { pageGroupsFor } from './settings/page-names'
import { signOut } from './sign-in'
import { news, useSignalItems, useSignals } from './signals'
import { Avatar } from './ui/avatars'
import { Button } from './ui/buttons'
import { Question } from './ui/dialogs'
import { Icon } from './ui/icons'
import { Menu } from './ui/menus'
import { isAdmin, type View } from './view-types'
import { t } from './words/catalogue'
import { Works } from './work'

export function Shell({ me }: Pick<View, 'me'>) {
  const route = useRoute()
  const organization = me.organizations.find(({ id }) => id === route.organization_id) ?? me.organizations[0]
  const id = organization?.id ?? ''
  const api = useMemo(() => new Api(id), [id])
  const section = SECTIONS.find(({ path }) => path === route.path[0])
  const is_home = id !== route.organization_id || !section
  useEffect(() => {
    if (id && is_home) go(hrefOfSection(id, SECTIONS[0]!), true)
  }, [is_home, id])
  useEffect(() => (id ? follow(id) : undefined), [id])
  if (!organization) return <NoOrganization />
  if (is_home) return null
  const view: View = { api, route, me, organization }
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t('frame.skip')}
      </button>
      <Rail {...view} />
      <div class="state">
        <Trouble />
        <Works />
      </div>
      <Palette {...view} />
      <main class="content" id="content" tabIndex={-1} key={organization.id}>
        <section.View {...view} />
      </main>
    </div>
  )
}

function hrefOfSection(organization_id: string, { path, query }: Section): string {
  return hrefOf(organization_id, [path], new URLSearchParams(query))
}

function Rail(view: View) {
  const { route, organization } = view
  const count = useCell(news)
  useSignals(view)
  const [is_beginning, setBeginning] = useState(false)
  const sections = SECTIONS.filter(({ is_for_admins }) => !is_for_admins || isAdmin(organization))
  useActs([
    { text: t('begin.title'), icon: SquarePen, keys: 'c', run: () => setBeginning(true) },
    ...sections.map((section) => ({
      group: t('frame.group_go'),
      text: t('inbox.go_to', { view: t(section.text) }),
      icon: section.icon,
      keys: `g ${section.key}`,
      run: () => go(hrefOfSection(organization.id, section)),
    })),
    ...pageGroupsFor(isAdmin(organization)).flatMap(({ pages }) =>
      pages.map((page) => ({
        group: t('settings.title'),
        text: t(`settings.${page}`),
        run: () => go(hrefOf(organization.id, ['settings', page])),
      })),
    ),
  ])
  return (
    <header class="rail">
      <img class="brand" src="console/icon.svg" alt="Deskwire" />
      <nav aria-label={t('frame.sections')}>
        {sections.map((section) => (
          <a
            key={section.path}
            href={hrefOfSection(organization.id, section)}
            aria-label={
              section.path === 'tickets' && count > 0 ? `${t(section.text)} ${Math.min(count, 99)}` : t(section.text)
            }
            title={t(section.text)}
            aria-current={route.path[0] === section.path ? 'page' : undefined}
          >
            <Icon of={section.icon} size={20} />
            {section.path === 'tickets' && count > 0 && (
              <span class="badge" aria-hidden="true">
                {Math.min(count, 99)}
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <Button kind="bare" icon={SquarePen} label={t('begin.title')} onClick={() => setBeginning(true)} />
      <Person {...view} />
      {is_beginning && <NewTicket {...view} onClose={() => setBeginning(false)} />}
    </header>
  )
}

/** How long signing out waits for what was written. */
const SAVE_MS = 3000

/** The menu of the person: organizations, the account, and signing out once all is saved that was written. */
function Person({ api, me, organization }: View) {
  const [is_asking, setAsking] = useState(false)
  const leave = async () => {
    await sendAll()
    const late = new Promise<false>((resolve) => setTimeout(resolve, SAVE_MS, false))
    if (await Promise.race([saveWritings(), late])) await signOut()
    else setAsking(true)
  }
  const signals = useSignalItems()
  const available = useAvailable({ api, me })
  const others = me.organizations.length > 1 ? me.organizations : []
  return (
    <>
      <Menu
        label={t('frame.account', { name: me.name })}
        button={<Avatar name={me.name} />}
        items={[
          ...others.map(({ id, name }) => ({
            text: name,
            is_chosen: id === organization.id,
            run: () => go(hrefOfSection(id, SECTIONS[0]!)),
          })),
          ...available,
          ...signals,
          {
            text: t('settings.account'),
            icon: UserRound,
            run: () => go(hrefOf(organization.id, ['settings', 'account'])),
          },
          { text: t('frame.sign_out'), icon: LogOut, run: leave },
        ]}
      />
      {is_asking && (
        <Question
          title={t('frame.sign_out_question')}
          answer={t('frame.sign_out')}
          run={signOut}
          onClose={() => setAsking(false)}
        >
          {t('frame.unsaved')}
        </Question>
      )}
    </>
  )
}

function NoOrganization() {
  return (
    <main class="sign-in">
      <h1>Deskwire</h1>
      <p>{t('frame.no_organization')}</p>
      <button type="button" onClick={() => void signOut()}>
        {t('frame.sign_out')}
      </button>
    </main>
  )
}

function Trouble() {
  const text = useCell(trouble)
  return (
    <div class="trouble" role="status" hidden={!text}>
      {text}
    </div>
  )
}
