/** A list of things that are added, edited and removed in the same way, such as labels or macros. */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Api } from '../api'
import type { Told } from '../events'
import { Doom } from '../forms/doom'
import { EditForm } from '../forms/edit-form'
import { type Body, type Spec, withoutEmpty } from '../forms/spec'
import { useRows } from '../lists'
import { Table } from '../rows'
import { Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'

/** The word, the label, the question and the answer of a removal. */
const REMOVALS = {
  delete: ['act.delete', 'act.delete_what', 'doom.delete', 'done.deleted'],
  remove: ['act.remove', 'act.remove_what', 'doom.remove', 'done.removed'],
  revoke: ['act.revoke', 'act.revoke_what', 'doom.revoke', 'done.revoked'],
} as const
type Removal = keyof typeof REMOVALS

type Preset = { text: string; start?: Body }

type Props<T extends { id: string }> = {
  api: Api
  path: string
  filter?: Record<string, string>
  isAbout?: (told: Told) => boolean
  caption: string
  head: string[]
  cells: (one: T) => ComponentChildren
  nameOf: (one: T) => string
  empty: string
  adding?: string
  /** More buttons that add one, with what the form begins with. */
  presets?: Preset[]
  /** Fields of a new one, or of one that is edited; undefined: it cannot be edited. */
  specs: (one: T | undefined) => Spec[] | undefined
  /** The values that the form begins with, and what it becomes. */
  startOf?: (one: T | undefined) => Body | undefined
  toBody?: (body: Body, one: T | undefined) => Body | Promise<Body>
  /** The verb for one that goes; deleted unless given. */
  removal?: Removal
  /** The consequence; undefined: it stays. */
  deleteMeans?: (one: T) => string | undefined
  /** More that can be done with one. */
  acts?: (one: T, reload: () => Promise<void>) => ComponentChildren
  /** Runs with what was made. */
  onMade?: (one: T) => void
}

export function Managed<T extends { id: string }>(props: Props<T>) {
  const { api, path, filter, isAbout, caption, head, cells, nameOf, empty, adding, acts, specs, deleteMeans } = props
  const presets: Preset[] = adding ? [{ text: adding }, ...(props.presets ?? [])] : []
  const [word, label, question, done] = REMOVALS[props.removal ?? 'delete']
  const list = useRows<T>(api, path, filter, isAbout)
  const [edited, setEdited] = useState<{ one: T } | Preset>()
  const [doomed, setDoomed] = useState<T>()
  return (
    <>
      <Table
        adding={presets.map((preset) => ({ text: preset.text, begin: () => setEdited(preset) }))}
        list={list}
        caption={caption}
        head={[...head, t('list.acts')]}
        empty={empty}
        row={(one) => (
          <>
            {cells(one)}
            <td class="buttons">
              {acts?.(one, list.reload)}
              {specs(one) && (
                <Button
                  text={t('act.edit')}
                  label={t('act.edit_what', { name: nameOf(one) })}
                  onClick={() => setEdited({ one })}
                />
              )}
              {deleteMeans?.(one) !== undefined && (
                <Button text={t(word)} label={t(label, { name: nameOf(one) })} onClick={() => setDoomed(one)} />
              )}
            </td>
          </>
        )}
      />
      {edited && (
        <Edit
          {...props}
          {...('one' in edited ? { one: edited.one } : { one: undefined, preset: edited })}
          onClose={() => setEdited(undefined)}
          reload={list.reload}
        />
      )}
      {doomed && (
        <Doom
          title={t(question, { name: nameOf(doomed) })}
          answer={t(word)}
          onClose={() => setDoomed(undefined)}
          run={async () => {
            await api.delete(`${path}/${doomed.id}`)
            tell(t(done, { name: nameOf(doomed) }))
            await list.reload()
          }}
        >
          {deleteMeans!(doomed)}
        </Doom>
      )}
    </>
  )
}

type EditProps<T extends { id: string }> = Props<T> & {
  one: T | undefined
  preset?: Preset
  onClose: () => void
  reload: () => Promise<void>
}

function Edit<T extends { id: string }>(props: EditProps<T>) {
  const { api, path, one, preset, nameOf, specs, startOf, toBody = (body) => body, onMade, onClose, reload } = props
  const save = async (body: Body, changes: Body) => {
    const { data } = one
      ? await api.patch<T>(`${path}/${one.id}`, await toBody(changes, one))
      : await api.post<T>(path, await toBody(withoutEmpty(body), one))
    onClose()
    tell(t('done.saved', { name: nameOf(data) }))
    if (!one) onMade?.(data)
    await reload()
  }
  // While names are read anew nothing is known of the fields: they stay as they were.
  const fields = useRef<Spec[]>([])
  fields.current = specs(one) ?? fields.current
  return (
    <Dialog title={one ? t('act.edit_what', { name: nameOf(one) }) : preset!.text} onClose={onClose}>
      <EditForm
        specs={fields.current}
        value={preset?.start ?? (startOf ? startOf(one) : (one as Body | undefined))}
        submit={t('act.save')}
        send={save}
        onCancel={onClose}
      />
    </Dialog>
  )
}
