/** The second factor of the own account. */
import { useState } from 'preact/hooks'
import { encode } from 'uqr'
import type { RecoveryCodes, SecondFactor, SecondFactorSecret } from '../../../people/second-factor/model'
import type { Api } from '../api'
import { EditForm } from '../forms/edit-form'
import { Copyable, SecretOnce } from '../forms/secret'
import type { Body, Spec } from '../forms/spec'
import { useLive } from '../live'
import { Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const PATH = '/auth/second-factor'
const SELDOM_MS = 300_000

/** The step at which the person is. */
type Step =
  | { at: 'password' | 'renew' | 'remove' }
  | ({ at: 'scan' } & SecondFactorSecret)
  | { at: 'codes'; codes: string }

export function FactorSettings({ api, me }: View) {
  const live = useLive<SecondFactor>(`factor ${me.id}`, () => api.own<SecondFactor>('GET', PATH), SELDOM_MS)
  const [step, setStep] = useState<Step>()
  const close = () => {
    setStep(undefined)
    void live.reload()
  }
  if (!live.value) return <Waiting error={live.error} />
  const { enabled, recovery_codes_left } = live.value
  return (
    <div class="card narrow">
      <p>{enabled ? t('factor.on', { count: recovery_codes_left }) : t('factor.off')}</p>
      <p class="buttons">
        {enabled ? (
          <>
            <Button text={t('factor.new_codes')} onClick={() => setStep({ at: 'renew' })} />
            <Button text={t('factor.remove')} onClick={() => setStep({ at: 'remove' })} />
          </>
        ) : (
          <Button kind="main" text={t('factor.set_up')} onClick={() => setStep({ at: 'password' })} />
        )}
      </p>
      {step && <Doing api={api} step={step} setStep={setStep} onClose={close} />}
    </div>
  )
}

type DoingProps = { api: Api; step: Step; setStep: (step: Step) => void; onClose: () => void }

/** The dialog of the step that the person is at. */
function Doing({ api, step, setStep, onClose }: DoingProps) {
  const showCodes = ({ recovery_codes }: RecoveryCodes) => setStep({ at: 'codes', codes: recovery_codes.join('\n') })
  const proof = [password(), code(t('factor.code_or_recovery'))]
  switch (step.at) {
    case 'password':
      return (
        <Ask
          title={t('factor.set_up')}
          specs={[password()]}
          submit={t('factor.go_on')}
          onClose={onClose}
          send={async (body) => setStep({ at: 'scan', ...(await api.own<SecondFactorSecret>('POST', PATH, body)) })}
        />
      )
    case 'scan':
      return (
        <Dialog title={t('factor.set_up')} onClose={onClose}>
          <p>{t('factor.scan')}</p>
          <QrCode text={step.otpauth_url} />
          <p>
            <Copyable text={step.secret} label={t('factor.key')} />
          </p>
          <EditForm
            specs={[code(t('factor.code_hint'))]}
            submit={t('factor.confirm')}
            onCancel={onClose}
            send={async (body) => showCodes(await api.own<RecoveryCodes>('POST', `${PATH}/confirm`, body))}
          />
        </Dialog>
      )
    case 'renew': {
      const renew = async (body: Body) =>
        showCodes(await api.own<RecoveryCodes>('POST', `${PATH}/recovery-codes`, body))
      const words = t('factor.new_codes')
      return <Ask title={words} specs={proof} submit={words} onClose={onClose} send={renew} />
    }
    case 'remove': {
      const remove = async (body: Body) => {
        await api.own('DELETE', PATH, body)
        tell(t('factor.removed'))
        onClose()
      }
      const words = t('factor.remove')
      return <Ask title={words} specs={proof} submit={words} onClose={onClose} send={remove} />
    }
    case 'codes':
      return (
        <SecretOnce title={t('factor.codes')} hint={t('factor.codes_hint')} secret={step.codes} onClose={onClose} />
      )
  }
}

function password(): Spec {
  return {
    kind: 'secret',
    name: 'current_password',
    label: t('account.current_password'),
    autoComplete: 'current-password',
    required: true,
  }
}

function code(hint: string): Spec {
  return { kind: 'text', name: 'code', label: t('factor.code'), hint, max: 64, required: true }
}

type AskProps = {
  title: string
  specs: Spec[]
  submit: string
  onClose: () => void
  send: (body: Body) => Promise<unknown>
}

function Ask({ title, onClose, ...form }: AskProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <EditForm {...form} onCancel={onClose} />
    </Dialog>
  )
}

function QrCode({ text }: { text: string }) {
  const { size, data } = encode(text, { border: 4 })
  const squares = data.flatMap((row, y) => row.flatMap((is_dark, x) => (is_dark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg width="200" height="200" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t('factor.qr')}>
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={squares.join('')} />
    </svg>
  )
}
