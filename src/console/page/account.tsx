/** The own account: its second factor. */
import { useEffect, useState } from 'preact/hooks'
import { encode } from 'uqr'
import type { RecoveryCodes, SecondFactor, SecondFactorSecret } from '../../people/second-factor/model'
import type { Api } from './api'
import { Action, Button } from './ui/buttons'
import { Dialog } from './ui/dialogs'
import { Field, Form } from './ui/form-fields'
import { attempt, tell } from './ui/toasts'

const PATH = '/auth/second-factor'

/** What the person is doing with the second factor. */
type Step = { at: 'status' | 'password' | 'renew' | 'remove' } | ({ at: 'scan' } & SecondFactorSecret) | Codes
type Codes = { at: 'codes' } & RecoveryCodes

export function Account({ api, onClose }: { api: Api; onClose: () => void }) {
  const [step, setStep] = useState<Step>({ at: 'status' })
  const back = () => setStep({ at: 'status' })
  return (
    <Dialog title="Second factor" onClose={onClose}>
      {step.at === 'status' && <Status api={api} onStep={setStep} onClose={onClose} />}
      {step.at === 'password' && (
        <Form
          submit="Go on"
          onCancel={back}
          send={async (form) => {
            const current_password = form.get('password')
            setStep({ at: 'scan', ...(await api.own<SecondFactorSecret>('POST', PATH, { current_password })) })
          }}
        >
          <Password />
        </Form>
      )}
      {step.at === 'scan' && <Scan {...step} api={api} onBack={back} onDone={setStep} />}
      {(step.at === 'renew' || step.at === 'remove') && (
        <Prove
          onBack={back}
          submit={step.at === 'renew' ? 'Make new codes' : 'Remove it'}
          send={async (proof) => {
            if (step.at === 'renew') {
              setStep({ at: 'codes', ...(await api.own<RecoveryCodes>('POST', `${PATH}/recovery-codes`, proof)) })
            } else {
              await api.own('DELETE', PATH, proof)
              back()
            }
          }}
        />
      )}
      {step.at === 'codes' && <Shown {...step} onClose={onClose} />}
    </Dialog>
  )
}

function Status({ api, onStep, onClose }: { api: Api; onStep: (step: Step) => void; onClose: () => void }) {
  const [factor, setFactor] = useState<SecondFactor>()
  useEffect(() => {
    void attempt(async () => setFactor(await api.own<SecondFactor>('GET', PATH)))
  }, [])
  if (!factor) return <p class="empty">Loading …</p>
  const { enabled, recovery_codes_left } = factor
  return (
    <>
      <p>
        {enabled
          ? `Signing in asks for a code of your app. You have ${recovery_codes_left} recovery codes left.`
          : 'Signing in asks for your password alone. With a second factor it asks for a code of an app, too.'}
      </p>
      <p class="buttons">
        {enabled ? (
          <>
            <Button text="New recovery codes" onClick={() => onStep({ at: 'renew' })} />
            <Button text="Remove" onClick={() => onStep({ at: 'remove' })} />
          </>
        ) : (
          <Button kind="main" text="Set up" onClick={() => onStep({ at: 'password' })} />
        )}
        <Button text="Close" onClick={onClose} />
      </p>
    </>
  )
}

type ScanProps = SecondFactorSecret & { api: Api; onBack: () => void; onDone: (codes: Codes) => void }

function Scan({ secret, otpauth_url, api, onBack, onDone }: ScanProps) {
  return (
    <>
      <p>Scan this with an authenticator app, or type the key into it. Then enter the code that the app shows.</p>
      <QrCode text={otpauth_url} />
      <p>
        <code class="secret">{secret}</code>
      </p>
      <Form
        submit="Confirm"
        onCancel={onBack}
        send={async (form) => {
          const codes = await api.own<RecoveryCodes>('POST', `${PATH}/confirm`, { code: form.get('code') })
          onDone({ at: 'codes', ...codes })
        }}
      >
        <Field label="Code" name="code" required autoComplete="one-time-code" />
      </Form>
    </>
  )
}

function QrCode({ text }: { text: string }) {
  const { size, data } = encode(text, { border: 4 })
  const squares = data.flatMap((row, y) => row.flatMap((is_dark, x) => (is_dark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg width="200" height="200" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the key">
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={squares.join('')} />
    </svg>
  )
}

type Proof = { current_password: unknown; code: unknown }

function Prove({
  send,
  submit,
  onBack,
}: {
  send: (proof: Proof) => Promise<void>
  submit: string
  onBack: () => void
}) {
  return (
    <Form
      submit={submit}
      onCancel={onBack}
      send={(form) => send({ current_password: form.get('password'), code: form.get('code') })}
    >
      <Password />
      <Field label="Code" name="code" hint="6 digits of your app, or a recovery code" required />
    </Form>
  )
}

function Password() {
  return <Field label="Password" name="password" type="password" required autoComplete="current-password" />
}

function Shown({ recovery_codes, onClose }: Codes & { onClose: () => void }) {
  return (
    <>
      <p>Keep these codes where you find them without your phone. Each works once. They are not shown again.</p>
      <pre>{recovery_codes.join('\n')}</pre>
      <p class="buttons">
        <Action
          kind="main"
          run={async () => {
            await navigator.clipboard.writeText(recovery_codes.join('\n'))
            tell('The codes are copied.')
          }}
        >
          Copy
        </Action>
        <Button text="Close" onClick={onClose} />
      </p>
    </>
  )
}
