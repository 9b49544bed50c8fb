/** The sign-in: with a password and the code of a second factor, or at a provider. */
import { useState } from 'preact/hooks'
import { givenOrganization, goToProvider } from './from-provider'
import { signInWith, signInWithCode } from './sign-in'
import { Field, Form } from './ui/form-fields'
import { clearNotices } from './ui/toasts'
import { t } from './words/catalogue'

/** The form that asks for what is missing. @param email when it is known who signs in */
export function Credentials({ email }: { email?: string }) {
  const [challenge, setChallenge] = useState<string>()
  const take = async (sent: ReturnType<typeof signInWith>) => {
    const missing = await sent
    if (missing && 'fault' in missing) throw missing.fault
    clearNotices()
    if (missing) setChallenge(missing.challenge)
  }
  if (challenge) {
    return (
      <Form
        key="code"
        submit={t('sign_in.title')}
        onCancel={() => setChallenge(undefined)}
        takes_focus
        send={(form) => take(signInWithCode(challenge, String(form.get('code'))))}
      >
        <Field
          label={t('sign_in.code')}
          name="code"
          hint={t('sign_in.code_hint')}
          required
          autoComplete="one-time-code"
        />
      </Form>
    )
  }
  return (
    <Form
      key="password"
      submit={t('sign_in.title')}
      takes_focus
      send={(form) => take(signInWith(String(form.get('email')), String(form.get('password'))))}
    >
      <Field
        label={t('sign_in.email')}
        name="email"
        type="email"
        required
        autoComplete="username"
        value={email}
        readOnly={!!email}
      />
      <Field label={t('sign_in.password')} name="password" type="password" required autoComplete="current-password" />
    </Form>
  )
}

export function SignIn() {
  const organization = givenOrganization()
  return (
    <main class="sign-in">
      <img class="brand" src="console/icon.svg" alt="" />
      <h1>Deskwire</h1>
      <Credentials />
      <details open={organization !== ''}>
        <summary>{t('sign_in.provider')}</summary>
        <Form submit={t('sign_in.go_there')} send={(form) => goToProvider(String(form.get('organization')))}>
          <Field
            label={t('sign_in.organization')}
            name="organization"
            value={organization}
            hint={t('sign_in.its_id')}
            required
          />
        </Form>
      </details>
      <p>
        <a href="password-reset">{t('sign_in.forgot')}</a> · <a href="swagger">API</a>
      </p>
    </main>
  )
}
