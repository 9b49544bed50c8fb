/** The console: the sign-in, then the frame around the views. */
import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Account } from './account'
import { Api, trouble } from './api'
import { useCell } from './cell'
import { follow } from './events'
import { comeFromProvider, givenOrganization, goToProvider } from './from-provider'
import { Inbox } from './inbox/inbox'
import { saveWhenLeft, saveWritings } from './inbox/writings'
import { Operate } from './operate/admin-parts'
import { go, hrefOf, useRoute } from './route'
import { askOtherTabs, signIn, signInWith, signInWithCode, signOut } from './sign-in'
import { Action, attempt, Button, Choice, clearNotice, Dialog, Field, Form, Notice, Question } from './ui'
import { isAdmin, type View } from './view-types'

function Page() {
  const now = useCell(signIn)
  if (now.state === 'asking') return null
  return (
    <>
      {now.state === 'none' ? <SignIn /> : <Frame me={now.me} />}
      {now.state === 'ended' && (
        <Dialog title="Sign in again">
          <p>Your session has ended. What you have written is kept.</p>
          <Credentials email={now.me.email} />
          <Button text="Drop it, and sign in as somebody else" onClick={() => void signOut()} />
        </Dialog>
      )}
      <Notice />
    </>
  )
}

function Credentials({ email }: { email?: string }) {
  const [challenge, setChallenge] = useState<string>()
  const take = async (sent: ReturnType<typeof signInWith>) => {
    const missing = await sent
    if (missing && 'fault' in missing) throw missing.fault
    clearNotice()
    if (missing) setChallenge(missing.challenge)
  }
  if (challenge) {
    return (
      <Form
        key="code"
        submit="Sign in"
        onCancel={() => setChallenge(undefined)}
        send={(form) => take(signInWithCode(challenge, String(form.get('code'))))}
      >
        <Field
          label="Code"
          name="code"
          hint="6 digits of your app, or a recovery code"
          required
          autoComplete="one-time-code"
        />
      </Form>
    )
  }
  return (
    <Form
      key="password"
      submit="Sign in"
      send={(form) => take(signInWith(String(form.get('email')), String(form.get('password'))))}
    >
      <Field
        label="Email"
        name="email"
        type="email"
        required
        autoComplete="username"
        value={email}
        readOnly={!!email}
      />
      <Field label="Password" name="password" type="password" required autoComplete="current-password" />
    </Form>
  )
}

function SignIn() {
  const organization = givenOrganization()
  return (
    <main class="sign-in">
      <h1>Deskwire</h1>
      <Credentials />
      <details open={organization !== ''}>
        <summary>Sign in at the provider of your organization</summary>
        <Form submit="Go there" send={(form) => goToProvider(String(form.get('organization')))}>
          <Field label="Organization" name="organization" value={organization} hint="Its id" required />
        </Form>
      </details>
      <p>
        <a href="password-reset">Forgot your password?</a> · <a href="swagger">API</a>
      </p>
    </main>
  )
}

function Frame({ me }: Pick<View, 'me'>) {
  const route = useRoute()
  const organization = me.organizations.find(({ id }) => id === route.organization_id) ?? me.organizations[0]
  const id = organization?.id ?? ''
  const api = useMemo(() => new Api(id), [id])
  const is_home = id !== route.organization_id || route.path.length === 0
  useEffect(() => {
    if (id && is_home) go(inboxOf(id), true)
  }, [is_home, id])
  useEffect(() => (id ? follow(id) : undefined), [id])
  if (!organization) return <NoOrganization />
  if (is_home) return null
  const view: View = { api, route, me, organization }
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <Header {...view} />
      <Trouble />
      <main class="content" id="content" tabIndex={-1} key={organization.id}>
        {route.path[0] === 'operate' ? <Operate {...view} /> : <Inbox {...view} />}
      </main>
    </>
  )
}

function inboxOf(organization_id: string): string {
  return hrefOf(organization_id, ['tickets'], new URLSearchParams({ status: 'open' }))
}

function NoOrganization() {
  return (
    <main class="sign-in">
      <h1>Deskwire</h1>
      <p>You are no member of an organization any more. An admin can invite you again.</p>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </main>
  )
}

function Header({ api, route, me, organization }: View) {
  const [section] = route.path
  const [is_open, setOpen] = useState(false)
  return (
    <header>
      <strong class="brand">Deskwire</strong>
      <nav aria-label="Sections">
        <a href={inboxOf(organization.id)} aria-current={section === 'tickets' ? 'page' : undefined}>
          Inbox
        </a>
        {isAdmin(organization) && (
          <a href={hrefOf(organization.id, ['operate'])} aria-current={section === 'operate' ? 'page' : undefined}>
            Operate
          </a>
        )}
      </nav>
      <span class="grow" />
      {me.organizations.length > 1 ? (
        <Choice
          label="Organization"
          is_quiet
          value={organization.id}
          options={me.organizations.map(({ id, name }) => ({ value: id, text: name }))}
          onChoose={(id) => go(inboxOf(id))}
        />
      ) : (
        <span class="organization">{organization.name}</span>
      )}
      <span class="me">
        <Button text={me.name} label={`Your account, ${me.name}`} onClick={() => setOpen(true)} />
      </span>
      <SignOut />
      {is_open && <Account api={api} onClose={() => setOpen(false)} />}
    </header>
  )
}

/** How long signing out waits for what was written. */
const SAVE_MS = 3000

/** Signs out once all is saved that was written. */
function SignOut() {
  const [is_asking, setAsking] = useState(false)
  const leave = async () => {
    const late = new Promise<false>((resolve) => setTimeout(resolve, SAVE_MS, false))
    if (await Promise.race([saveWritings(), late])) await signOut()
    else setAsking(true)
  }
  return (
    <>
      <Action run={leave}>Sign out</Action>
      {is_asking && (
        <Question title="Sign out?" answer="Sign out" run={signOut} onClose={() => setAsking(false)}>
          Something that you have written could not be saved. It is lost when you sign out.
        </Question>
      )}
    </>
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

void attempt(async () => {
  const missing = await comeFromProvider()
  if (missing && 'fault' in missing) throw missing.fault
})
askOtherTabs()
saveWhenLeft()
render(<Page />, document.getElementById('page')!)
