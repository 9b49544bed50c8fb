/** Asks before something is removed, with the name of the thing. */
import type { ComponentChildren } from 'preact'
import { withoutTurns } from '../direction'
import { Dialog, Question } from '../ui/dialogs'
import { t } from '../words/catalogue'
import { EditForm } from './edit-form'

type Props = {
  title: string
  answer: string
  children: ComponentChildren
  run: () => Promise<unknown>
  onClose: () => void
}

/** Closes itself when it is done. */
export function Doom({ run, onClose, ...question }: Props) {
  const runAndClose = async () => {
    await run()
    onClose()
  }
  return <Question {...question} run={runAndClose} onClose={onClose} />
}

/** For what cannot be undone and takes much with it: one types the name. */
export function TypedDoom({ word, title, answer, children, run, onClose }: Props & { word: string }) {
  const send = async () => {
    await run()
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <EditForm
        specs={[
          { kind: 'text', name: 'word', label: t('doom.type', { word }), required: true, equals: withoutTurns(word) },
        ]}
        submit={answer}
        is_dangerous
        send={send}
        onCancel={onClose}
      />
    </Dialog>
  )
}
