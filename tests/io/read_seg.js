// node read_seg.js SEG FOLDER: what OHIF's code makes of a DICOM SEG on the series in a folder, as JSON.
// Needs dcmjs up to 0.29, whose adapters OHIF shows segmentations with.
const dcmjs = require("dcmjs");
const fs = require("fs");
const path = require("path");

const read = (file) => {
  const bytes = fs.readFileSync(file);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
};
const natural = (file) =>
  dcmjs.data.DicomMetaDictionary.naturalizeDataset(dcmjs.data.DicomMessage.readFile(read(file)).dict);

const [seg, folder] = process.argv.slice(2);
const images = new Map();
for (const name of fs.readdirSync(folder)) {
  const image = natural(path.join(folder, name));
  images.set(image.SOPInstanceUID, image);
}
const provider = {
  get(type, id) {
    const image = images.get(id);
    if (type === "imagePlaneModule") {
      return {
        rows: image.Rows,
        columns: image.Columns,
        imageOrientationPatient: image.ImageOrientationPatient,
        rowCosines: image.ImageOrientationPatient.slice(0, 3),
        columnCosines: image.ImageOrientationPatient.slice(3),
        imagePositionPatient: image.ImagePositionPatient,
        frameOfReferenceUID: image.FrameOfReferenceUID,
      };
    }
    if (type === "generalSeriesModule") return { seriesInstanceUID: image.SeriesInstanceUID };
    if (type === "sopCommonModule") return { sopInstanceUID: id };
    return image;
  },
};
const ids = [...images.keys()];
const state = dcmjs.adapters.Cornerstone.Segmentation.generateToolState(ids, read(seg), provider);
const buffer = new Uint16Array(state.labelmapBufferArray[0]);
const size = images.get(ids[0]).Rows * images.get(ids[0]).Columns;
const pixels = Object.fromEntries(ids.map((id, n) => [id, [...buffer.slice(n * size, (n + 1) * size)]]));
const labels = state.segMetadata.data.filter(Boolean).map((segment) => segment.SegmentLabel);
console.log(JSON.stringify({ labels, pixels }));
