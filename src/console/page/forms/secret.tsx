/** A word that is shown once, or has to be typed elsewhere: with a button that copies it. */
import { useId } from 'preact/hooks'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'

/** Copies a text; without the browser's clipboard (a page without HTTPS) it is selected instead. */
async function copy(text: string, id: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text)
    tell(t('copy.done'))
    return
  }
  getSelection()?.selectAllChildren(document.getElementById(id)!)
  tell(t('copy.selected'))
}

/** A text with its button. @param label says what is copied */
export function Copyable({ text, label }: { text: string; label: string }) {
  const id = useId()
  return (
    <span class="copyable">
      <code id={id}>{text}</code>
      <Action run={() => copy(text, id)} label={t('copy.what', { what: label })}>
        {t('copy.copy')}
      </Action>
    </span>
  )
}

type Props = { title: string; hint: string; secret: string; onClose: () => void }

/** A secret that the service shows once. */
export function SecretOnce({ title, hint, secret, onClose }: Props) {
  const id = useId()
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{hint}</p>
      <p class="secret">
        <code id={id}>{secret}</code>
      </p>
      <p class="buttons">
        <Action kind="main" run={() => copy(secret, id)}>
          {t('copy.copy')}
        </Action>
        <Button text={t('ui.close')} onClick={onClose} />
      </p>
    </Dialog>
  )
}
