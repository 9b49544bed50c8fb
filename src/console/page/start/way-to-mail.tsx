/** Leads a new admin from nothing to real mail, in and out, and to a colleague. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Mailbox, MailboxTest } from '../../../mail/mailboxes/model'
import { EditForm } from '../forms/edit-form'
import { type Body, withoutEmpty } from '../forms/spec'
import { go, hrefOf } from '../route'
import { mailboxBody, mailboxSpecs, mailboxValue } from '../settings/mailbox-form'
import { testMailbox, testWords } from '../settings/mailboxes'
import { readMe } from '../sign-in'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Dot } from '../ui/marks'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { doneOf, type Progress, useProgress } from './progress'
import { Records } from './records'
import { Arrival, TestMail } from './test-mail'

/** The name of an organization that nobody has named. */
const FIRST_NAME = 'My organization'

type Props = View & {
  progress: Progress
  /** The last answer of the mailbox's server, while this is shown. */
  tested: MailboxTest | undefined
  setTested: (result: MailboxTest | undefined) => void
  reload: () => Promise<void>
}

export function FirstSteps(view: View) {
  const live = useProgress(view.api)
  const [tested, setTested] = useState<MailboxTest>()
  if (!live.value) return <Waiting error={live.error} />
  const { value: progress, reload } = live
  const found = doneOf(progress)
  const server = found.server && tested?.ok !== false
  const done = { ...found, server, name: view.organization.name !== FIRST_NAME }
  const props = { ...view, progress, tested, setTested, reload }
  const count = Object.values(done).filter(Boolean).length
  return (
    <div class="first-steps">
      <p class="hint">
        {t('start.lead')} <progress max={6} value={count} aria-label={t('start.progress')} />{' '}
        {t('start.done_of', { done: count, all: 6 })}
      </p>
      <ol class="steps">
        <Step title={t('start.name')} is_done={done.name}>
          <NameStep {...props} />
        </Step>
        <Step title={t('start.mailbox')} is_done={done.mailbox}>
          <MailboxStep {...props} />
        </Step>
        <Step title={t('start.server')} is_done={done.server} is_later={!done.mailbox}>
          <ServerStep {...props} />
        </Step>
        <Step title={t('start.arrive')} is_done={done.arrived} is_later={!done.mailbox}>
          <Records {...props} />
          <Arrival {...props} />
        </Step>
        <Step title={t('start.send')} is_done={done.sent} is_later={!done.server}>
          <TestMail {...props} />
        </Step>
        <Step title={t('start.colleague')} is_done={done.colleague} is_later={!done.server}>
          <ColleagueStep {...props} />
        </Step>
      </ol>
      {done.arrived && (
        <p>
          <Button
            kind="main"
            text={t('start.to_inbox')}
            onClick={() => go(hrefOf(view.api.organization_id, ['tickets'], new URLSearchParams({ status: 'open' })))}
          />
        </p>
      )}
    </div>
  )
}

type StepProps = { title: string; is_done: boolean; is_later?: boolean; children: ComponentChildren }

/** Steps that wait for an earlier one are only named. One that gets done while a person looks at it stays open. */
function Step({ title, is_done, is_later, children }: StepProps) {
  const state = is_done ? 'done' : is_later ? 'later' : 'next'
  const [is_open, setOpen] = useState(state === 'next')
  useEffect(() => {
    if (state === 'next') setOpen(true)
  }, [state])
  return (
    <li class={`step step-${state}`}>
      <details open={is_open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <strong>{title}</strong> <span class={`step-state ${state}`}>{t(`start.${state}`)}</span>
        </summary>
        {state !== 'later' && children}
      </details>
    </li>
  )
}

function NameStep({ api, organization }: Props) {
  return (
    <>
      <p>{t('start.name_means')}</p>
      <EditForm
        specs={[{ kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true }]}
        value={{ name: givenName(organization) }}
        submit={t('act.save')}
        send={async (body) => {
          await api.patch('/organization', body)
          await readMe()
        }}
      />
    </>
  )
}

/** Empty for an organization that nobody has named. */
function givenName({ name }: View['organization']): string {
  return name === FIRST_NAME ? '' : name
}

function MailboxStep({ api, organization, progress, reload }: Props) {
  const [is_adding, setAdding] = useState(false)
  const { mailbox } = progress
  return (
    <>
      <p>{mailbox ? t('start.mailbox_is', { address: mailbox.address }) : t('start.mailbox_means')}</p>
      {!mailbox && <Button kind="main" text={t('mailbox.add')} onClick={() => setAdding(true)} />}
      {is_adding && (
        <Dialog title={t('mailbox.add')} onClose={() => setAdding(false)}>
          <EditForm
            specs={mailboxSpecs(undefined)
              .filter(({ name }) => name === 'address' || name === 'name')
              .map((spec) => ({ ...spec, required: true }))}
            value={{ ...mailboxValue(undefined), name: givenName(organization) }}
            submit={t('act.save')}
            onCancel={() => setAdding(false)}
            send={async (body) => {
              await api.post('/mailboxes', mailboxBody(withoutEmpty(body), undefined))
              setAdding(false)
              await reload()
            }}
          />
        </Dialog>
      )}
    </>
  )
}

function ServerStep({ progress, tested, setTested, reload, ...view }: Props) {
  const mailbox = progress.mailbox!
  const [is_editing, setEditing] = useState(false)
  const test = async () => {
    setTested(await testMailbox(view, mailbox))
    await reload()
  }
  const save = async (_body: Body, changes: Body) => {
    const { data } = await view.api.patch<Mailbox>(`/mailboxes/${mailbox.id}`, mailboxBody(changes, mailbox))
    setEditing(false)
    setTested(undefined)
    await (data.smtp ? test() : reload())
  }
  return (
    <>
      <p>
        {mailbox.smtp
          ? t('start.server_is', { host: mailbox.smtp.host, port: mailbox.smtp.port })
          : t('start.server_means')}
      </p>
      {!mailbox.sending.ok && <p class="fault">{mailbox.sending.error}</p>}
      <p role="status">{tested && <Dot kind={tested.ok ? 'sent' : 'failed'}>{testWords(mailbox, tested)}</Dot>}</p>
      <p class="buttons">
        <Button
          kind={mailbox.smtp ? 'quiet' : 'main'}
          text={t(mailbox.smtp ? 'start.change_server' : 'start.set_server')}
          onClick={() => setEditing(true)}
        />
        {mailbox.smtp && <Action run={test}>{t('mailbox.test')}</Action>}
      </p>
      {is_editing && (
        <Dialog title={t('start.server')} onClose={() => setEditing(false)}>
          <EditForm
            specs={mailboxSpecs(mailbox).filter(({ name }) => name.startsWith('smtp.') || name === 'sign_in')}
            value={mailboxValue(mailbox)}
            submit={t('act.save')}
            onCancel={() => setEditing(false)}
            send={save}
          />
        </Dialog>
      )}
    </>
  )
}

function ColleagueStep({ api, progress, reload }: Props) {
  const [again, setAgain] = useState(0)
  const invite = async (body: Body) => {
    await api.post('/users', { ...body, role: 'agent' })
    tell(t('people.is_invited'))
    setAgain(again + 1)
    await reload()
  }
  return (
    <>
      <p>
        {progress.colleagues > 0 ? (
          <a href={hrefOf(api.organization_id, ['settings', 'people'])}>{t('start.colleague_is')}</a>
        ) : (
          t('start.colleague_means')
        )}
      </p>
      <EditForm
        key={again}
        specs={[
          { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
          { kind: 'email', name: 'email', label: t('field.email'), required: true },
        ]}
        submit={t('people.invite')}
        send={invite}
      />
    </>
  )
}
