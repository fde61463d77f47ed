/**
 * What the server says and hears: the mirror of `web/messages.py`. A test compares the two, name for name.
 *
 * Frames, rows and columns count from zero; a point is a frame and the pixel (y, x) on it.
 */

/**
 * @typedef {object} Health
 * @property {string} version
 * @property {string} device
 * @property {string} root
 * @property {string | null} opened  the project that the server was started with
 * @property {Record<string, [number, number]>} windows  level and width of grey values by name
 * @property {Record<string, string>} labels  names that are offered for objects, with their codes
 * @property {string} pacs  where series can be opened from; empty without a PACS
 */
/** @typedef {{name: string, path: string, kind: "folder" | "input" | "series" | "project", size_bytes: number}} FileEntry */
/** @typedef {{path: string, parent: string | null, entries: FileEntry[]}} FileListing */
/** @typedef {{path: string}} Uploaded */
/** @typedef {{id: string, name: string, input: string, changed_at: string, running: boolean}} ProjectEntry */

/**
 * A study: an input, and how far it is.
 * @typedef {object} WorkEntry
 * @property {string} input
 * @property {string | null} project
 * @property {"new" | "clicked" | "run" | "accepted" | "rejected" | "exported"} state
 * @property {string[]} people  who worked on it
 * @property {number} points
 * @property {number} runs
 * @property {number | null} health
 */
/** @typedef {{path: string, patient: string, study: string, description: string, modality: string, images: number}} SeriesEntry */
/** @typedef {{uid: string, patient: string, date: string, description: string, modalities: string}} PacsStudy */
/** @typedef {{uid: string, number: number, modality: string, description: string, images: number}} PacsSeries */
/** @typedef {{series: string, instance: string, is_new: boolean}} StoredMessage */
/** @typedef {{project: string, name: string, run: number, state: string, ahead: number, epoch: number, epochs: number}} QueueEntry */
/**
 * Bytes on disk.
 * @typedef {object} StorageMessage
 * @property {Record<string, number>} runs
 * @property {Record<string, number>} exports
 * @property {number | null} upload
 */
/** @typedef {{verdict: "" | "accepted" | "rejected", by: string, current: boolean}} ReviewMessage */

/** @typedef {{id: number, frame: number, y: number, x: number, positive: boolean}} PointMessage */
/** @typedef {{frame: number, top: number, left: number, bottom: number, right: number, share: number}} BoxMessage */
/**
 * @typedef {object} ObjectMessage
 * @property {number} number  which it keeps when it gets another name
 * @property {string} name
 * @property {string} colour  as #rrggbb
 * @property {PointMessage[]} points
 * @property {number[]} absent  frames on which it is not
 * @property {number[]} brushed  frames whose mask a person painted
 * @property {BoxMessage | null} box  the largest of its boxes, which bounds it
 * @property {BoxMessage[]} boxes  at most one per frame
 * @property {number} size  how many times larger its masks should be than what is found
 * @property {Record<string, number>} sizes  the same of single frames
 * @property {number | null} bound  the share of a frame that it covers at most; null if it is estimated
 * @property {boolean} locked
 */
/** @typedef {{low: number, high: number, full_low: number, full_high: number}} WindowMessage */
/** @typedef {{low: number | null, high: number | null}} LookMessage */
/** @typedef {{values: number[]}} ValueMessage */
/** @typedef {{areas: number[]}} MeasureMessage */
/** @typedef {{preset: string, seed: number}} SettingsMessage */

/**
 * @typedef {object} ProjectMessage
 * @property {string} id
 * @property {string} name
 * @property {string} input
 * @property {string} path  where the project is kept
 * @property {string[]} notes
 * @property {number} frames
 * @property {number} height
 * @property {number} width
 * @property {number} channels
 * @property {"volume" | "video" | "frames"} kind
 * @property {boolean} is_grey
 * @property {WindowMessage} window
 * @property {number[] | null} spacing_mm  of frames, rows and columns
 * @property {string[] | null} directions  the patient's side that frames, rows and columns go to: R, L, A, P, S or I
 * @property {string} unit  of the pixel values, "" if it is not known
 * @property {boolean} own_points  whether a file of points lies with the images
 * @property {boolean} from_pacs  the images were fetched from a PACS
 * @property {LookMessage} look  how it was last looked at
 * @property {string[]} frame_names
 * @property {string} frames_key  changes when the frames do
 * @property {number} version  grows by one with every action
 * @property {string[]} can_undo  who did something that they can undo
 * @property {string[]} can_redo
 * @property {ObjectMessage[]} objects
 * @property {SettingsMessage} settings
 * @property {number | null} fraction  the largest share of a frame given for objects without a box
 * @property {RunMessage[]} runs
 * @property {RunMessage[]} answers  masks that were answered live and are kept
 * @property {number | null} shown  the run or kept answer whose masks are shown
 * @property {ReviewMessage} review
 * @property {LiveMessage} live
 */

/**
 * How masks follow what is said.
 * @typedef {object} LiveMessage
 * @property {boolean} on
 * @property {"off" | "starting" | "ready" | "failed"} state
 * @property {number} stamp  grows with every change of this
 * @property {number} number  grows with every answer
 * @property {number} version  of the project that was answered
 * @property {string[]} objects  whose masks are the answer's; the others have those of the last run
 * @property {string[]} rough  those of them of which nothing has been learnt yet
 * @property {boolean} partly  whether they are there near the last click only; the other frames follow
 * @property {number} seconds
 * @property {string[]} newer  objects about which something was said since the last run was begun
 * @property {boolean} due  whether a run will begin by itself
 * @property {string} message
 * @property {ViewMessage | null} view  a frame that is newer than all this; the others follow
 * @property {Record<string, ShownMessage>} shown  of each object that has masks, which are shown
 */

/** @typedef {{frame: number, number: number, stamp: string, objects: string[], rough: string[]}} ViewMessage */
/** @typedef {{stamp: string, rough: boolean}} ShownMessage  another stamp is another mask */

/**
 * @typedef {object} RunMessage
 * @property {number} id
 * @property {"waiting" | "running" | "finished" | "failed" | "cancelled" | "interrupted" | "deleted"} state
 * @property {number} ahead  runs that go first
 * @property {string} phase
 * @property {number} epoch
 * @property {number} epochs
 * @property {number | null} seconds_left
 * @property {string} message
 * @property {string} error
 * @property {Record<string, number[]> | null} priors  by object, its share of each frame
 * @property {boolean} best  whether there are masks to show
 * @property {number | null} refined_from
 * @property {string | null} started_at
 * @property {number} seconds
 * @property {number} version  of the project that it was started with
 * @property {string[]} objects
 * @property {string} words  what it was told
 * @property {string[]} notes  what to know before trusting its masks
 * @property {Record<string, FigureMessage>} figures  by object
 */

/**
 * What is known of the masks of an object in a run.
 * @typedef {object} FigureMessage
 * @property {number} pixels  on all frames
 * @property {number} largest  the frame with most of them
 * @property {number | null} volume_ml
 * @property {number | null} bound  the largest share of a frame that was taken for possible
 * @property {string} bound_origin
 * @property {number | null} health  from 0 to 1
 */
/** @typedef {{dice: number | null}} AgreementMessage */

/** @typedef {[number, number][]} PixelRuns  start and length of what is marked, row after row */
/** @typedef {{frame: number, size: number[], runs: PixelRuns}} MaskMessage */
/** @typedef {{frames: number[], next: number | null}} UncertaintyMessage */
/** @typedef {{name: string, path: string, files: string[]}} ExportMessage */
/** @typedef {{name: string, label: string, available: boolean, needs: string, probabilities: boolean}} FormatEntry */
/** @typedef {{version: number, project: ProjectMessage}} ActionResult */

/**
 * @typedef {{kind: "add_point", object: string, frame: number, y: number, x: number, positive: boolean}
 *   | {kind: "add_points", object: string, places: [number, number, number][], positive: boolean}
 *   | {kind: "move_point", point: number, y: number, x: number, frame?: number | null}
 *   | {kind: "remove_point", point: number}
 *   | {kind: "mark_absent", object: string, frame: number, absent: boolean, last?: number | null}
 *   | {kind: "set_box", object: string, frame: number, top: number, left: number, bottom: number, right: number}
 *   | {kind: "clear_box", object: string, frame?: number | null}
 *   | {kind: "set_size", object: string, size: number | null, frame?: number | null}
 *   | {kind: "set_fraction", fraction: number | null}
 *   | {kind: "add_object", name: string, colour?: string}
 *   | {kind: "rename_object", object: string, name: string}
 *   | {kind: "recolour_object", object: string, colour: string}
 *   | {kind: "lock_object", object: string, locked: boolean}
 *   | {kind: "remove_object", object: string}
 *   | {kind: "set_settings", preset: string, seed: number}
 *   | {kind: "brush", object: string, frame: number, runs: PixelRuns}
 *   | {kind: "brush_frames", object: string, frames: [number, PixelRuns][]}
 *   | {kind: "clear_brush", object: string, frame: number}
 *   | {kind: "undo"}
 *   | {kind: "redo"}} Action
 */

/**
 * @typedef {{kind: "hello", version: number}
 *   | {kind: "project", project: ProjectMessage}
 *   | {kind: "run", run: RunMessage}
 *   | {kind: "preview", run: number}
 *   | {kind: "live", live: LiveMessage}} Event
 */

export {};
