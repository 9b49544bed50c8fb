/** The palette (Ctrl K): everything that can be done now, and tickets by their words. And the list of all keys. */
import { Keyboard, Ticket as TicketIcon, Undo2 } from 'lucide'
import { useEffect, useState } from 'preact/hooks'
import type { Ticket } from '../../desk/tickets/model'
import { type Act, acts, useActs } from './acts'
import { query } from './api'
import { useCell } from './cell'
import { go, hrefOf } from './route'
import { type Option, Options } from './ui/combobox'
import { Dialog } from './ui/dialogs'
import { attempt, useUndo } from './ui/toasts'
import type { View } from './view-types'
import { t } from './words/catalogue'

/** A rest in typing, after which tickets are searched for. */
const REST_MS = 200
const LEAST_CHARACTERS = 2

export function Palette({ api }: View) {
  const [open, setOpen] = useState<'palette' | 'keys'>()
  const [words, setWords] = useState('')
  const known = useCell(acts).flat()
  const found = useFound({ api }, open === 'palette' ? words.trim() : '')
  const close = () => {
    setOpen(undefined)
    setWords('')
  }
  const undo = useUndo()
  useActs(undo ? [{ text: t('ui.undo'), icon: Undo2, keys: 'z', run: undo }] : [])
  useActs([
    { text: t('frame.palette'), keys: 'Ctrl K', run: () => setOpen('palette') },
    { text: t('frame.keys'), icon: Keyboard, keys: '?', run: () => setOpen('keys') },
  ])
  if (open === 'keys') return <Keys known={known} onClose={close} />
  if (open !== 'palette') return null
  const options: Option[] = [
    ...known
      .map(({ text, icon, keys, group }, place) => ({ value: String(place), text, icon, group, hint: keys }))
      .filter(({ hint }) => hint !== 'Ctrl K'),
    ...found.map(({ id, code, subject }) => ({
      value: id,
      text: `${code} ${subject}`,
      icon: TicketIcon,
      // Things that the service has found fit, whatever their words are.
      words,
      group: t('inbox.tickets'),
    })),
  ]
  return (
    <Dialog title={t('frame.palette')} onClose={close} is_palette>
      <Options
        label={t('frame.palette_hint')}
        options={options}
        onType={setWords}
        onChoose={(value) => {
          close()
          const act = known[Number(value)]
          // The dialog gives the focus back first.
          if (act) setTimeout(() => void attempt(async () => act.run()))
          else go(hrefOf(api.organization_id, ['tickets', value]))
        }}
      />
    </Dialog>
  )
}

function Keys({ known, onClose }: { known: Act[]; onClose: () => void }) {
  const sends = [
    { keys: 'Ctrl Enter', text: t('composer.send'), group: t('composer.write') },
    { keys: 'Ctrl Shift Enter', text: t('composer.send_resolved'), group: t('composer.write') },
  ]
  const groups = Map.groupBy([...known.filter(({ keys }) => keys), ...sends], ({ group }) => group ?? '')
  return (
    <Dialog title={t('frame.keys')} onClose={onClose}>
      {[...groups].map(([group, all]) => (
        <section key={group}>
          {group && <h3>{group}</h3>}
          <dl class="keys">
            {all.map(({ keys, text }) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys?.replace('Ctrl', t('ui.ctrl'))}</kbd>
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}

function useFound({ api }: Pick<View, 'api'>, words: string): Ticket[] {
  const [found, setFound] = useState<Ticket[]>([])
  useEffect(() => {
    setFound([])
    if (words.length < LEAST_CHARACTERS) return
    const stop = new AbortController()
    const timer = setTimeout(async () => {
      const path = `/tickets${query({ search: words, per_page: 8 })}`
      const answer = await api.get<Ticket[]>(path, { signal: stop.signal }).catch(() => undefined)
      if (answer && !stop.signal.aborted) setFound(answer.data)
    }, REST_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [api, words])
  return found
}
